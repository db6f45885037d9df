-- policies: every retention policy, what it did last, and what would stop it now.
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
comment on view reaper.policies is 'Retention policies: what goes when, what the last purge did, and what would stop the next.';
comment on column reaper.policies.name is 'How jobs and people call it.';
comment on column reaper.policies.table_name is 'The table, with its schema, quoted as SQL needs it.';
comment on column reaper.policies.column_name is 'The column that says how old a row is.';
comment on column reaper.policies.max_age is 'Rows older than this are deleted.';
comment on column reaper.policies.batch_limit is 'How many rows one purge deletes at most.';
comment on column reaper.policies.schedule is 'When a purge begins: cron (UTC), @hourly and the like, or an interval.';
comment on column reaper.policies.allow_cascade is 'Whether cascades and triggers were agreed to.';
comment on column reaper.policies.enabled is 'False deletes nothing.';
comment on column reaper.policies.created_by is 'Who registered it, and must keep the right to delete.';
comment on column reaper.policies.created_at is 'When it was registered.';
comment on column reaper.policies.last_purge_at is 'When a purge last ended.';
comment on column reaper.policies.last_deleted is 'How many rows it deleted.';
comment on column reaper.policies.rows_per_second is 'How fast the last purge was that deleted anything.';
comment on column reaper.policies.problems is 'Why a purge would be refused now; empty when it would not.';
revoke all on reaper.policies from public;
grant select on reaper.policies to reaper_worker, reaper_ops, reaper_ro;
