-- circuit_pause: length of the pause of a circuit that opened so many times in a row: settings.circuit_pause, doubled each time up to ten
-- minutes, ± 20 %. Ten minutes, so that an idle store notices soon that the backend works again.
create or replace function reaper_internal.circuit_pause(p_trips integer)
    returns interval
    language sql volatile
as $$
    select least(s.circuit_pause * 2 ^ least(p_trips, 20), greatest(s.circuit_pause, interval '10 minutes')) * (0.8 + 0.4 * random())
      from reaper.settings s;
$$;
comment on function reaper_internal.circuit_pause(integer) is
    'The pause of a circuit that opened p_trips times before in a row: settings.circuit_pause × 2 each time, at most 10 minutes, ± 20 %.';
revoke all on function reaper_internal.circuit_pause(integer) from public;
