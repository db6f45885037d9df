-- blocked_rows: pastes that PostgreSQL refuses to delete, and why.
create or replace view reaper.blocked_rows as
    select b.short_code, p.expires_at, b.sqlstate, b.message, b.attempts, b.blocked_at, b.next_attempt
      from reaper.blocked b
      left join reaper.expiry_of_blocked() as p on p.short_code = b.short_code
     order by b.blocked_at;
comment on view reaper.blocked_rows is 'Due pastes whose deletion PostgreSQL refused. Remove the cause; the next attempt then succeeds, at once after reaper.unblock().';
comment on column reaper.blocked_rows.short_code is 'Code of the paste.';
comment on column reaper.blocked_rows.expires_at is 'When the paste expired; null if its row has been deleted meanwhile.';
comment on column reaper.blocked_rows.sqlstate is 'SQLSTATE of the refusal; 23503 or 23001 = another table refers to the row.';
comment on column reaper.blocked_rows.message is 'Error message of PostgreSQL.';
comment on column reaper.blocked_rows.attempts is 'Number of failed attempts.';
comment on column reaper.blocked_rows.blocked_at is 'When the deletion was first refused.';
comment on column reaper.blocked_rows.next_attempt is 'Earliest time of the next attempt.';
revoke all on reaper.blocked_rows from public;
grant select on reaper.blocked_rows to reaper_worker, reaper_ops, reaper_ro;
