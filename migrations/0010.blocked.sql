-- Rows that cannot be deleted for a reason that does not pass by itself: left alone for a while, so that they stop nobody.
-- locks: none on existing tables
-- depends: 0009.workers-and-batches
create table if not exists reaper.blocked (
    short_code    text        not null primary key,
    sqlstate      text        not null,
    message       text        not null,
    attempts      integer     not null default 1,
    blocked_at    timestamptz not null,
    next_attempt  timestamptz not null
);

comment on table reaper.blocked is 'Due pastes whose deletion PostgreSQL refused; the claim skips them until next_attempt.';
comment on column reaper.blocked.short_code is 'The paste.';
comment on column reaper.blocked.sqlstate is 'The code of the refusal; 23503 = another table refers to the row.';
comment on column reaper.blocked.message is 'What PostgreSQL said.';
comment on column reaper.blocked.attempts is 'How often it was tried.';
comment on column reaper.blocked.blocked_at is 'The first refusal.';
comment on column reaper.blocked.next_attempt is 'When the claim may take the row again.';
