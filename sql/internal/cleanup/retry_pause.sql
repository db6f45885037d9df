-- retry_pause: pause after the n-th refusal: a minute, tripled each time, ± 20 %, and never outside of 1 minute … 24 hours.
-- Tripled, so that ten attempts last days and not one night. At both ends the jitter is one-sided: what failed together is still tried apart.
create or replace function reaper_internal.retry_pause(p_attempts integer)
    returns interval
    language sql volatile
as $$
    select p.shortest + (p.longest - p.shortest) * random()
      from (select greatest(b.base * 0.8, interval '1 minute') as shortest, least(b.base * 1.2, interval '24 hours') as longest
              from (select least(interval '1 minute' * 3 ^ least(greatest(p_attempts, 1) - 1, 10), interval '24 hours') as base) as b) as p;
$$;
comment on function reaper_internal.retry_pause(integer) is
    'The pause after so many refusals: 1 minute × 3 each time, ± 20 %, at least 1 minute and at most 24 hours.';
revoke all on function reaper_internal.retry_pause(integer) from public;
