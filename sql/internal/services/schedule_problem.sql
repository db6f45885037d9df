-- schedule_problem: why no worker can read a schedule, as far as SQL can tell; null if it looks right. Workers know more (a name such as mon,
-- the last day of a month), so an item with letters is left to them.
create or replace function reaper_internal.schedule_problem(p_schedule text)
    returns text
    language plpgsql immutable
as $$
declare
    c_names  constant text[] := '{minute,hour,day,month,weekday}';
    c_least  constant integer[] := '{0,0,1,1,0}';
    c_most   constant integer[] := '{59,23,31,12,7}';
    v_fields text[] := string_to_array(p_schedule, ' ');
    v_item   text;
    v_number text;
begin
    if p_schedule = 'continuous'
        or p_schedule ~ '^[1-9][0-9]{0,5} (second|minute|hour|day)s?$'
        or p_schedule in ('@hourly', '@daily', '@midnight', '@weekly', '@monthly', '@yearly', '@annually')
    then
        return null;
    end if;
    if p_schedule is null or cardinality(v_fields) <> 5 or '' = any (v_fields) then
        return format('%L is neither cron with five fields, nor @hourly and the like, nor an interval such as 15 minutes, nor continuous', p_schedule);
    end if;
    for v_place in 1 .. 5 loop
        foreach v_item in array string_to_array(v_fields[v_place], ',') loop
            if v_item ~ '[A-Za-z#?]' then
                continue;
            end if;
            if v_item !~ '^(\*|[0-9]{1,2}(-[0-9]{1,2})?)(/[0-9]{1,3})?$' or v_item ~ '/0*$' then
                return format('%L is no %s of a cron schedule', v_item, c_names[v_place]);
            end if;
            foreach v_number in array regexp_split_to_array(split_part(v_item, '/', 1), '-') loop
                if v_number <> '*' and v_number::integer not between c_least[v_place] and c_most[v_place] then
                    return format('%L is no %s of a cron schedule: it must be between %s and %s', v_item, c_names[v_place], c_least[v_place], c_most[v_place]);
                end if;
            end loop;
        end loop;
    end loop;
    if v_fields[5] = '*' and v_fields[4] ~ '^[0-9]+$' and v_fields[3] ~ '^[0-9]+$'
        and v_fields[3]::integer > (case v_fields[4]::integer when 2 then 29 when 4 then 30 when 6 then 30 when 9 then 30 when 11 then 30 else 31 end)
    then
        return format('%L never matches a date', p_schedule);
    end if;
    return null;
end;
$$;
comment on function reaper_internal.schedule_problem(text) is
    'Why the text is no schedule; null if it looks like one. Workers judge names of days and months.';
revoke all on function reaper_internal.schedule_problem(text) from public;
