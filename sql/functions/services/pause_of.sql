-- pause_of: who paused a service, until when and why, in one sentence; what every refusal says.
create or replace function reaper.pause_of(p_name text)
    returns text
    language sql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
    select format('%s is paused until %s by %s: %s', s.name, to_char(s.paused_until, 'YYYY-MM-DD HH24:MI:SS TZ'), s.paused_by, s.pause_reason)
      from reaper.services s
     where s.name = p_name and s.paused_until > reaper.clock();
$$;
comment on function reaper.pause_of(text) is
    'Who paused the service, until when and why, in one sentence; null if it is not paused.';
revoke all on function reaper.pause_of(text) from public;
grant execute on function reaper.pause_of(text) to reaper_worker, reaper_ops, reaper_ro;
