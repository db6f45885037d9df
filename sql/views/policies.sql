-- policies: every retention policy, its last purge, and what would make the next one fail.
create or replace view reaper.policies as
    select p.name,
           format('%I.%I', p.table_schema, p.table_name) as table_name,
           p.column_name,
           p.max_age,
           p.batch_limit,
           p.schedule,
           p.allow_cascade,
           p.enabled,
           p.created_by,
           p.created_at,
           p.last_purge_at,
           p.last_deleted,
           p.rows_per_second,
           array(select s.problem from reaper.policy_problems(p.name) as s) as problems
      from reaper.retention_policies p
     order by p.name;
comment on view reaper.policies is 'Retention policies: what is deleted when, figures of the last purge, and problems that would make the next one fail.';
comment on column reaper.policies.name is 'Name of the policy.';
comment on column reaper.policies.table_name is 'Table with its schema, quoted as SQL needs it.';
comment on column reaper.policies.column_name is 'Column with the time from which a row''s age is counted.';
comment on column reaper.policies.max_age is 'Rows older than this are deleted.';
comment on column reaper.policies.batch_limit is 'Maximum number of rows per purge.';
comment on column reaper.policies.schedule is 'When a purge starts: cron (settings.time_zone), @hourly and the like, or an interval.';
comment on column reaper.policies.allow_cascade is 'Whether cascades and triggers were allowed at registration.';
comment on column reaper.policies.enabled is 'Whether purges delete rows; false: they delete none.';
comment on column reaper.policies.created_by is 'Login that registered the policy; it must keep the right to delete from the table.';
comment on column reaper.policies.created_at is 'When the policy was registered.';
comment on column reaper.policies.last_purge_at is 'When the last purge ended.';
comment on column reaper.policies.last_deleted is 'Number of rows that the last purge deleted.';
comment on column reaper.policies.rows_per_second is 'Speed of the last purge that deleted rows.';
comment on column reaper.policies.problems is 'Why a purge would fail now; empty if it would not.';
revoke all on reaper.policies from public;
grant select on reaper.policies to reaper_worker, reaper_ops, reaper_ro;
