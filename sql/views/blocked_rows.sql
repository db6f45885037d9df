-- blocked_rows: pastes that cannot be deleted, and why.
create or replace view reaper.blocked_rows as
    select b.short_code, p.expires_at, b.sqlstate, b.message, b.attempts, b.blocked_at, b.next_attempt
      from reaper.blocked b
      left join public.pastes p on p.short_code = b.short_code
     order by b.blocked_at;
comment on view reaper.blocked_rows is 'Due pastes whose deletion PostgreSQL refused: mend the cause, and the next attempt succeeds.';
comment on column reaper.blocked_rows.short_code is 'The paste.';
comment on column reaper.blocked_rows.expires_at is 'When it expired; null when the row is gone meanwhile.';
comment on column reaper.blocked_rows.sqlstate is 'The code of the refusal; 23503 or 23001 = another table refers to the row.';
comment on column reaper.blocked_rows.message is 'What PostgreSQL said.';
comment on column reaper.blocked_rows.attempts is 'How often it was tried.';
comment on column reaper.blocked_rows.blocked_at is 'The first refusal.';
comment on column reaper.blocked_rows.next_attempt is 'When it is tried again.';
revoke all on reaper.blocked_rows from public;
grant select on reaper.blocked_rows to reaper_worker, reaper_ops, reaper_ro;
