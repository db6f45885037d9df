-- Nothing is lost: the next drain finds every blocked row again.
drop table reaper.blocked;
