-- sole_bad_copies: the bad copies of contents that have no good one, by name: their bytes are only to be had from a backup. The first p_limit of
-- them along copy_wants_due, of at most 10,000 wants without a good copy.
create or replace function reaper.sole_bad_copies(p_limit integer default 20)
    returns table (content_hash text, backend text, object_key text, trouble text, trouble_at timestamptz, size_bytes bigint)
    language sql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
    select l.content_hash, l.backend, l.object_key, l.trouble, l.trouble_at, l.size_bytes
      from (select w.content_hash, w.reason
              from reaper.copy_wants w
             where w.good = 0
             order by w.next_attempt
             limit 10000) as e
      join reaper.object_locations l on l.content_hash = e.content_hash and l.trouble is not null
     where e.reason in ('missing', 'corrupt')
     limit p_limit;
$$;
comment on function reaper.sole_bad_copies(integer) is
    'Copies that are missing or corrupt of contents without any good copy, at most p_limit. Restore the bytes under the same key, then reaper scrub HASH.';
revoke all on function reaper.sole_bad_copies(integer) from public;
grant execute on function reaper.sole_bad_copies(integer) to reaper_worker, reaper_ops, reaper_ro;
