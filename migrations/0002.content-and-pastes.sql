-- Creates public.content and public.pastes where no table of an application is bound, complete with their constraints and indexes, and
-- binds them. RESTRICT, because with NO ACTION PostgreSQL runs two queries for every deleted content (docs/decisions/0009).
-- locks: none on existing tables
-- depends: 0001.schemas-and-bindings
do $$
declare
    v_alike text;
begin
    if exists (select from reaper.bindings) then
        return;
    end if;
    if to_regclass('public.content') is not null or to_regclass('public.pastes') is not null then
        raise exception sqlstate 'RP010' using
            message = 'public.content or public.pastes exists, and no table is bound',
            hint    = 'Run reaper migrate: it adopts existing tables while the application runs.';
    end if;

    -- reaper migrate has looked, and asked; plain yoyo has not.
    select string_agg(distinct n.nspname || '.' || c.relname, ', ')
      into v_alike
      from pg_catalog.pg_class c
      join pg_catalog.pg_namespace n on n.oid = c.relnamespace
      join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
     where coalesce(current_setting('reaper.tables_looked_at', true), '') = ''
       and c.relkind in ('r', 'p') and c.relpersistence <> 't' and n.nspname !~ '^(pg_|information_schema$|reaper$|procrastinate$)'
       and (a.attname ~ '^ref(s|_?counts?|erences?|erence_?counts?|_?cnt)$' or a.attname ~ '(expir|valid_until|delete_after|dies_at)');
    if v_alike is not null then
        raise exception sqlstate 'RP010' using
            message = format('these tables may have the part of pastes and content: %s', v_alike),
            hint    = 'Run reaper migrate, which binds them (docs/adoption.md), or reaper migrate --create-tables.';
    end if;

    create table public.content (
        content_hash  text collate "C" not null primary key,
        object_key    text collate "C",
        ref_count     bigint           not null default 0 constraint content_ref_count_check check (ref_count >= 0),
        size_bytes    bigint           not null default 0 constraint content_size_bytes_check check (size_bytes >= 0),
        created_at    timestamptz      not null default now()
    );
    -- A key that two content rows name could be deleted under a live paste.
    create unique index reaper_content_object_key on public.content (object_key);

    create table public.pastes (
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
    -- Asked under lock before a content row goes, and by the foreign key when it does.
    create index reaper_pastes_content on public.pastes (content_hash);
    -- The claim's: due rows in order of expiry, with the code as the cursor's tie-break for cohorts of one timestamp. No index mentions
    -- deletion_status or deletion_initiated_at: the claim changes both, and stays a HOT update.
    create index reaper_pastes_due on public.pastes (expires_at, short_code);
    grant select, insert, update, delete on public.content, public.pastes to reaper_owner;
    grant trigger on public.content to reaper_owner;  -- for the guard of object keys

    insert into reaper.provenance (kind, table_name, name)
    values ('table', 'public.content', 'content'), ('table', 'public.pastes', 'pastes');
    -- Every object that these tables will ever name is stored under the key that they say.
    insert into reaper.bindings (name, bound_table, columns, keys_confirmed, keys_checked)
    values ('pastes', 'public.pastes',
            '{"short_code": "short_code", "content_hash": "content_hash", "created_at": "created_at", "expires_at": "expires_at",
              "deletion_status": "deletion_status", "deletion_initiated_at": "deletion_initiated_at"}', null, null),
           ('content', 'public.content',
            '{"content_hash": "content_hash", "object_key": "object_key", "ref_count": "ref_count", "size_bytes": "size_bytes",
              "created_at": "created_at"}', true, 'reaper created the table');
end;
$$;
