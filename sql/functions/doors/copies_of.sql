-- copies_of: all copies of a content. Without a row in object_locations the application stored the bytes itself: on backend default, under
-- the content's object_key or its hash. Readers try the copies in this order.
create or replace function reaper.copies_of(p_content_hash text)
    returns table (backend text, object_key text, size_bytes bigint)
    language sql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
    select coalesce(l.backend, 'default') as backend,
           coalesce(l.object_key, c.object_key, c.content_hash),
           coalesce(l.size_bytes, c.size_bytes)
      from reaper.content c
      left join reaper.object_locations l on l.content_hash = p_content_hash
      left join reaper.circuits s on s.backend = coalesce(l.backend, 'default')
      left join reaper.backend_list b on b.name = coalesce(l.backend, 'default')
     where c.content_hash = p_content_hash
     -- Used up limits come late: where no other copy is to be had, it is read all the same.
     order by l.trouble is null desc, coalesce(s.state, 'closed') = 'closed' desc,
              reaper_internal.is_used_up(coalesce(l.backend, 'default'), 'monthly_egress'),
              coalesce(b.state, 'active') = 'draining', coalesce(l.backend, 'default');
$$;
comment on function reaper.copies_of(text) is
    'All copies of a content in the order in which to read them: good ones before those that are missing or corrupt, each on backends with a closed circuit first, then those that have used up no monthly limit, drained ones last; no row if the content does not exist.';
revoke all on function reaper.copies_of(text) from public;
grant execute on function reaper.copies_of(text) to reaper_worker, reaper_app, reaper_ops, reaper_ro;
