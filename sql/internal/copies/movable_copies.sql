-- movable_copies: the copies that may be moved off these backends, largest first: good ones, of contents that nothing else is being done to, where a
-- monthly limit of requests or egress is not used up. Objects
-- of no bytes change no utilisation and stay. Reads the locations of these backends once.
create or replace function reaper_internal.movable_copies(p_backends text[])
    returns table (content_hash text, backend text, size_bytes bigint)
    language sql stable
    set enable_seqscan = on
    set enable_bitmapscan = on
    set jit = off
as $$
    select l.content_hash, l.backend, l.size_bytes
      from reaper.object_locations l
     where l.backend = any (array(select b.name from unnest(p_backends) as b (name) where not reaper_internal.is_used_up(b.name, 'monthly_egress')))
       and l.trouble is null and l.size_bytes > 0
       and not (l.backend = 'default' and reaper_internal.own_key_stays())
       and not exists (select from reaper.copy_intents i where i.content_hash = l.content_hash)
       and not exists (select from reaper.copy_wants w where w.content_hash = l.content_hash)
       and not exists (select from reaper.copy_excess e where e.content_hash = l.content_hash)
     order by l.size_bytes desc, l.content_hash
     limit 100000;
$$;
comment on function reaper_internal.movable_copies(text[]) is
    'For plan_moves: the 100,000 largest copies on these backends that may be moved.';
revoke all on function reaper_internal.movable_copies(text[]) from public;
