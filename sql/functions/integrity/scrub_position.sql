-- scrub_position: where the scrubber stands on a backend, and how many bytes it may still read today.
create or replace function reaper.scrub_position(p_backend text)
    returns table (after_key text, bytes_left bigint)
    language sql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
    select coalesce(r.scrub_after, ''),
           s.scrub_bytes_per_day - case when r.scrub_day = (reaper.clock() at time zone 'UTC')::date then r.scrub_bytes else 0 end
      from reaper.settings s
      left join reaper.reconciliations r on r.backend = p_backend;
$$;
comment on function reaper.scrub_position(text) is
    'The last key that the scrubber has read on a backend, and the bytes that settings.scrub_bytes_per_day leaves for today (null = no limit).';
revoke all on function reaper.scrub_position(text) from public;
grant execute on function reaper.scrub_position(text) to reaper_worker, reaper_ops, reaper_ro;
