-- lifecycle: every lifecycle rule, its last pass, and what would make the next one fail.
create or replace view reaper.lifecycle as
    select r.name,
           r.prefix,
           r.min_size,
           r.max_size,
           r.expiration_days,
           r.enabled,
           r.created_by,
           r.created_at,
           r.last_pass_at,
           r.last_expired,
           r.after_created_at > '-infinity' as is_in_pass,
           array(select p.problem from reaper.lifecycle_problems() as p) as problems
      from reaper.lifecycle_rules r
     order by r.name;
comment on view reaper.lifecycle is 'Lifecycle rules: which pastes become due by their age, figures of the last pass, and problems that would make the next one fail.';
comment on column reaper.lifecycle.name is 'Name of the rule.';
comment on column reaper.lifecycle.prefix is 'Pastes whose short_code begins with this; null = any.';
comment on column reaper.lifecycle.min_size is 'Pastes whose content has at least this many bytes; null = any.';
comment on column reaper.lifecycle.max_size is 'Pastes whose content has at most this many bytes; null = any.';
comment on column reaper.lifecycle.expiration_days is 'Pastes that were created more days ago than this become due.';
comment on column reaper.lifecycle.enabled is 'Whether the rule is applied.';
comment on column reaper.lifecycle.created_by is 'Login that added the rule.';
comment on column reaper.lifecycle.created_at is 'When the rule was added.';
comment on column reaper.lifecycle.last_pass_at is 'When the last complete pass ended.';
comment on column reaper.lifecycle.last_expired is 'Number of pastes that became due in the last complete pass.';
comment on column reaper.lifecycle.is_in_pass is 'Whether a pass has begun and not ended.';
comment on column reaper.lifecycle.problems is 'Why a pass would fail now; empty if it would not.';
revoke all on reaper.lifecycle from public;
grant select on reaper.lifecycle to reaper_worker, reaper_ops, reaper_ro;
