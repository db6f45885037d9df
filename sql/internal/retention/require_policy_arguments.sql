-- require_policy_arguments: refuse invalid values, whatever the table.
-- Each part of the age must be positive: '1 month -29 days' is a day on average, and lies in the future in February.
create or replace function reaper_internal.require_policy_arguments(
    p_name text, p_max_age interval, p_batch_limit integer, p_schedule text, p_allow_cascade boolean
)
    returns void
    language plpgsql stable
as $$
declare
    v_problems text[];
    v_fixes    text[];
begin
    select array_agg(a.problem), array_agg(a.fix)
      into v_problems, v_fixes
      from (values
            (p_name ~ '^[A-Za-z][A-Za-z0-9_.-]{0,62}$',
             'invalid policy name', 'Give a letter, then up to 62 letters, digits, or any of _ . -'),
            (p_max_age between interval '1 minute' and interval '100 years'
             and least(extract(year from p_max_age), extract(month from p_max_age), extract(day from p_max_age),
                       extract(hour from p_max_age), extract(minute from p_max_age), extract(second from p_max_age)) >= 0,
             format('invalid max_age: %s', coalesce(p_max_age::text, 'null')), 'Give an age from 1 minute to 100 years without negative parts, such as ''90 days''.'),
            (p_batch_limit between 1 and 10000,
             format('invalid batch_limit: %s', coalesce(p_batch_limit::text, 'null')), 'Give a batch limit from 1 to 10000, such as 500.'),
            (reaper_internal.schedule_problem(p_schedule) is null and length(p_schedule) <= 100,
             format('invalid schedule: %s', coalesce(reaper_internal.schedule_problem(p_schedule), 'it has more than 100 characters')), 'Give five fields of cron such as ''15 3 * * *'', ''@hourly'', ''@daily'', an interval such as ''10 minutes'', or ''continuous''.'),
            (p_allow_cascade is not null, 'p_allow_cascade is null', 'Give true or false.')
           ) as a (holds, problem, fix)
     where a.holds is not true;
    perform reaper_internal.require_no_problems(coalesce(p_name, '(null)'), v_problems, v_fixes);
end;
$$;
comment on function reaper_internal.require_policy_arguments(text, interval, integer, text, boolean) is
    'Raises RP005 for an invalid name, age, batch limit or schedule of a retention policy.';
revoke all on function reaper_internal.require_policy_arguments(text, interval, integer, text, boolean) from public;
