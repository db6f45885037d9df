-- retry_pause: pause after the n-th refusal: a minute, tripled each time up to a day, ± 20 %.
-- Tripled, so that ten attempts last days and not one night.
create or replace function reaper_internal.retry_pause(p_attempts integer)
    returns interval
    language sql volatile
as $$
    select least(interval '1 minute' * 3 ^ least(p_attempts - 1, 10), interval '24 hours') * (0.8 + 0.4 * random());
$$;
comment on function reaper_internal.retry_pause(integer) is
    'The pause after so many refusals: 1 minute × 3 each time, at most 24 hours, ± 20 %.';
revoke all on function reaper_internal.retry_pause(integer) from public;
