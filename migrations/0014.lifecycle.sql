-- Creates the table of lifecycle rules: pastes of which code and size become due at which age. A new rule is not enabled.
-- locks: none on existing tables
-- depends: 0013.copies
create table if not exists reaper.lifecycle_rules (
    name              text collate "C" not null primary key constraint lifecycle_rules_name_check
                                       check (name ~ '^[A-Za-z][A-Za-z0-9_.-]{0,62}$'),
    prefix            text        constraint lifecycle_rules_prefix_check check (prefix <> ''),
    min_size          bigint      constraint lifecycle_rules_min_size_check check (min_size >= 0),
    max_size          bigint      constraint lifecycle_rules_max_size_check check (max_size >= 0),
    expiration_days   integer     not null constraint lifecycle_rules_expiration_days_check check (expiration_days between 1 and 36500),
    enabled           boolean     not null default false,
    created_by        name        not null,
    created_at        timestamptz not null,
    after_created_at  timestamptz not null default '-infinity',
    after_code        text        not null default '',
    pass_expired      bigint      not null default 0,
    last_pass_at      timestamptz,
    last_expired      bigint,
    constraint lifecycle_rules_has_a_filter check (num_nonnulls(prefix, min_size, max_size) > 0),
    constraint lifecycle_rules_sizes_check check (min_size <= max_size)
) with (fillfactor = 50);

comment on table reaper.lifecycle_rules is
    'Lifecycle rules: which pastes become due by their age. Changed by add_lifecycle_rule(), enable_lifecycle_rule(), disable_lifecycle_rule() and remove_lifecycle_rule().';
comment on column reaper.lifecycle_rules.name is 'Name of the rule.';
comment on column reaper.lifecycle_rules.prefix is 'Pastes whose short_code begins with this; null = any.';
comment on column reaper.lifecycle_rules.min_size is 'Pastes whose content has at least this many bytes; null = any. Content of unknown size never matches.';
comment on column reaper.lifecycle_rules.max_size is 'Pastes whose content has at most this many bytes; null = any. Content of unknown size never matches.';
comment on column reaper.lifecycle_rules.expiration_days is 'Pastes that were created more days ago than this become due.';
comment on column reaper.lifecycle_rules.enabled is 'Whether the rule is applied; false: nothing becomes due by it.';
comment on column reaper.lifecycle_rules.created_by is 'Login that added the rule (session_user).';
comment on column reaper.lifecycle_rules.created_at is 'When the rule was added.';
comment on column reaper.lifecycle_rules.after_created_at is 'Pastes up to this time of creation were looked at in the present pass; -infinity = a new pass begins.';
comment on column reaper.lifecycle_rules.after_code is 'Code of the last paste that was looked at in the present pass.';
comment on column reaper.lifecycle_rules.pass_expired is 'Number of pastes that became due in the present pass.';
comment on column reaper.lifecycle_rules.last_pass_at is 'When the last complete pass ended.';
comment on column reaper.lifecycle_rules.last_expired is 'Number of pastes that became due in the last complete pass.';
