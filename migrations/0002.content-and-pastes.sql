-- Creates content and pastes where the application has none. Existing tables stay as they are here; 0004 extends them. RESTRICT,
-- because with NO ACTION PostgreSQL runs two queries for every deleted content instead of one (docs/decisions/0009).
-- locks: none on existing tables
-- depends: 0001.schemas-and-provenance
insert into reaper.provenance (object)
select 'table ' || t.name
  from (values ('content'), ('pastes')) as t (name)
 where to_regclass('public.' || t.name) is null
    on conflict do nothing;

create table if not exists public.content (
    content_hash  text collate "C" not null primary key,
    object_key    text collate "C",
    ref_count     bigint           not null default 0 constraint content_ref_count_check check (ref_count >= 0),
    size_bytes    bigint           not null default 0 constraint content_size_bytes_check check (size_bytes >= 0),
    created_at    timestamptz      not null default now()
);

create table if not exists public.pastes (
    short_code             text collate "C" not null primary key,
    content_hash           text collate "C" not null
                           constraint pastes_content_hash_fkey references public.content (content_hash) on delete restrict,
    created_at             timestamptz      not null default now(),
    expires_at             timestamptz,
    deletion_status        varchar(20)      not null default 'NOT_EXPIRED'
                           constraint pastes_deletion_status_check
                           check (deletion_status in ('NOT_EXPIRED', 'DELETION_IN_PROGRESS', 'DELETED')),
    deletion_initiated_at  timestamptz
) with (fillfactor = 90);  -- room on the page for the mark, so that a claim is a HOT update

grant select, insert, update, delete on public.content, public.pastes to reaper_owner;
