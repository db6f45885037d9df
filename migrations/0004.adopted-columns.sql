-- Gives an application's own tables the columns and constraints that reaper needs; finds nothing to do on tables made by 0002.
-- No row is rewritten: defaults are constants, constraints come NOT VALID and are validated by the next step. A foreign key that the
-- application made stays as it is, whatever its action.
-- locks: pastes and content ACCESS EXCLUSIVE, catalogue changes only (milliseconds); waits for it at most 100 ms at a time
-- depends: 0003.index-pastes-by-content

-- Waiting in this weak mode, which no reader or writer notices, makes an autovacuum give way; only then the strong lock is asked for.
set local lock_timeout = '5s';
lock table public.content, public.pastes in share update exclusive mode;
set local lock_timeout = '100ms';

insert into reaper.provenance (object)
select format('column %s.%s', c.tab, c.col)
  from (values ('content', 'object_key'), ('content', 'size_bytes'), ('content', 'created_at'),
               ('pastes', 'created_at'), ('pastes', 'deletion_status'), ('pastes', 'deletion_initiated_at')) as c (tab, col)
 where not exists (select from pg_catalog.pg_attribute a
                    where a.attrelid = ('public.' || c.tab)::regclass and a.attname = c.col and not a.attisdropped)
    on conflict do nothing;

-- The key is compared with the hash, so it is sorted like it: between two collations PostgreSQL does not choose.
-- created_at of rows that are older than the column stays unknown; only new rows get a time.
do $$
begin
    execute format('alter table public.content
                        add column if not exists object_key text collate %s,
                        add column if not exists size_bytes bigint,
                        add column if not exists created_at timestamptz',
                   (select a.attcollation::regcollation from pg_catalog.pg_attribute a
                     where a.attrelid = 'public.content'::regclass and a.attname = 'content_hash'));
end;
$$;
alter table public.pastes
    add column if not exists created_at timestamptz,
    add column if not exists deletion_status varchar(20) not null default 'NOT_EXPIRED',
    add column if not exists deletion_initiated_at timestamptz;

do $$
begin
    if exists (select from reaper.provenance where object = 'column content.created_at') then
        alter table public.content alter column created_at set default now();
    end if;
    if exists (select from reaper.provenance where object = 'column pastes.created_at') then
        alter table public.pastes alter column created_at set default now();
    end if;
    if not exists (select from pg_catalog.pg_constraint c
                    where c.conrelid = 'public.pastes'::regclass and c.contype = 'c'
                      and pg_get_constraintdef(c.oid) like '%deletion_status%DELETION_IN_PROGRESS%') then
        alter table public.pastes add constraint pastes_deletion_status_check
            check (deletion_status in ('NOT_EXPIRED', 'DELETION_IN_PROGRESS', 'DELETED')) not valid;
        insert into reaper.provenance (object) values ('constraint pastes.pastes_deletion_status_check') on conflict do nothing;
    end if;
    if not exists (select from pg_catalog.pg_constraint c
                     join pg_catalog.pg_attribute p on p.attrelid = c.conrelid and p.attname = 'content_hash'
                     join pg_catalog.pg_attribute t on t.attrelid = c.confrelid and t.attname = 'content_hash'
                    where c.conrelid = 'public.pastes'::regclass and c.confrelid = 'public.content'::regclass
                      and c.contype = 'f' and c.conkey = array[p.attnum] and c.confkey = array[t.attnum]) then
        alter table public.pastes add constraint pastes_content_hash_fkey
            foreign key (content_hash) references public.content (content_hash) on delete restrict not valid;
        insert into reaper.provenance (object) values ('constraint pastes.pastes_content_hash_fkey') on conflict do nothing;
    end if;
end;
$$;
