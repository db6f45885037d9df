-- delivery_pause: pause after the n-th failed attempt: 5 seconds, four times as long each time, at most 6 hours, ± 20 %.
create or replace function reaper_internal.delivery_pause(p_failures integer)
    returns interval
    language sql volatile
as $$
    select least(interval '5 seconds' * 4 ^ least(greatest(p_failures, 1) - 1, 10), interval '6 hours') * (0.8 + 0.4 * random());
$$;
comment on function reaper_internal.delivery_pause(integer) is
    'The pause after so many failed attempts: 5 seconds × 4 each time, at most 6 hours, ± 20 %.';
revoke all on function reaper_internal.delivery_pause(integer) from public;
