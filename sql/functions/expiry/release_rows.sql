-- release_rows: the heart. Deletes rows that are still marked and still expired, and lets go of what they referred to.
--
-- Order of locks: content rows first, in hash order, then paste rows without waiting. Whoever writes about one content at a
-- time, in whatever order, can never form a cycle with this: the only wait happens before any paste row is held.
-- Whether a content row may go is asked in a new statement after the locks: only that snapshot has seen every such paste.
-- ref_count is a cache of the paste rows: where it says zero the rows are asked, and where they disagree they win.
create or replace function reaper.release_rows(
    in  p_codes        text[],
    in  p_now          timestamptz,
    in  p_wait         boolean,
    out deleted_codes  text[],
    out busy_codes     text[],
    out object_hashes  text[],
    out object_keys    text[],
    out object_sizes   bigint[],
    out rows_returned  integer,
    out rows_blocked   integer
)
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
    set enable_seqscan = off
    set enable_bitmapscan = off
    set enable_hashjoin = off
    set enable_mergejoin = off
    set jit = off
as $$
declare
    v_hashes   text[] := array(select distinct p.content_hash from public.pastes p where p.short_code = any (p_codes));
    v_held     text[];
    v_spent    text[];
    v_dead     text[];
    v_alive    text[];
    v_counts   bigint[];
    v_stuck    text[];
begin
    -- An application's deferred constraints shall speak here, where one bad row can be told from the rest.
    set constraints all immediate;

    v_hashes := reaper.lock_contents(v_hashes, p_wait);

    v_held := array(select p.short_code
                      from public.pastes p
                     where p.short_code = any (p_codes)
                       and p.deletion_status = 'DELETION_IN_PROGRESS'
                       and p.content_hash = any (v_hashes)
                       for update skip locked);

    with gone as (
        delete from public.pastes p
         where p.short_code = any (v_held) and p.expires_at <= p_now
        returning p.short_code, p.content_hash
    )
    select coalesce(array_agg(g.short_code), '{}'), array_agg(g.content_hash)
      into deleted_codes, v_spent
      from gone g;

    with spent as (
        select s.content_hash, count(*) as refs from unnest(v_spent) as s (content_hash) group by s.content_hash
    ), counted as (
        select c.content_hash,
               r.expected,
               (select count(*)
                  from (select from public.pastes p
                         where p.content_hash = c.content_hash
                         limit case when r.expected > 0 then 1 end) as named) as found
          from spent s
          join public.content c on c.content_hash = s.content_hash
         -- An adopted table may allow null: nothing was counted yet.
         cross join lateral (select coalesce(c.ref_count, 0) - s.refs as expected) as r
    ), noted as (
        insert into reaper.drift (content_hash, expected, found, action, noticed_at)
        select n.content_hash, n.expected, n.found,
               case when n.expected > 0 then 'left' when n.found > 0 then 'raised' else 'collected' end, p_now
          from counted n
         where n.expected < 0 or (n.expected > 0) <> (n.found > 0)
    )
    select array_agg(n.content_hash) filter (where n.expected <= 0 and n.found = 0),
           array_agg(n.content_hash) filter (where n.expected > 0 or n.found > 0),
           array_agg(greatest(n.expected, n.found)) filter (where n.expected > 0 or n.found > 0)
      into v_dead, v_alive, v_counts
      from counted n;

    with gone as (
        delete from public.content c
         where c.content_hash = any (v_dead)
        returning c.content_hash, coalesce(c.object_key, c.content_hash) as object_key, c.size_bytes
    )
    select coalesce(array_agg(g.content_hash), '{}'), coalesce(array_agg(g.object_key), '{}'), coalesce(array_agg(g.size_bytes), '{}')
      into object_hashes, object_keys, object_sizes
      from gone g;

    update public.content c
       set ref_count = a.refs
      from unnest(v_alive, v_counts) as a (content_hash, refs)
     where c.content_hash = a.content_hash;

    rows_returned := 0;
    rows_blocked := 0;
    busy_codes := '{}';
    if cardinality(deleted_codes) < cardinality(p_codes) then
        -- Still there although it was due and ours: a trigger swallowed the DELETE.
        v_stuck := array(select p.short_code from public.pastes p where p.short_code = any (v_held) and p.expires_at <= p_now);
        if v_stuck <> '{}' then
            rows_blocked := reaper.block_rows(v_stuck, p_now, '27000', 'the row was still there after its DELETE: a trigger prevents it');
        end if;
        select r.returned, r.busy_codes into rows_returned, busy_codes from reaper.return_rows(p_codes) as r;
    end if;

    if exists (select from reaper.blocked) then
        delete from reaper.blocked b where b.short_code = any (deleted_codes);
    end if;
end;
$$;
comment on function reaper.release_rows(text[], timestamptz, boolean) is
    'Internal to drop_references: deletes due rows, subtracts references, deletes content that nobody names; says what became of each row.';
revoke all on function reaper.release_rows(text[], timestamptz, boolean) from public;
