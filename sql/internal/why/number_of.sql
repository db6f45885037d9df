-- number_of: a number of things as people write it: 1 object, 1,234 objects, unknown bytes.
create or replace function reaper_internal.number_of(p_number bigint, p_noun text, p_plural text default null)
    returns text
    language sql immutable
as $$
    select case when p_number is null then 'unknown ' || coalesce(p_plural, p_noun || 's')
                else to_char(p_number, 'FM9,999,999,999,999,999,990') || ' ' || case when p_number = 1 then p_noun else coalesce(p_plural, p_noun || 's') end end;
$$;
comment on function reaper_internal.number_of(bigint, text, text) is
    'For why and counted: a number with thousands separated, and its noun in the singular or plural.';
revoke all on function reaper_internal.number_of(bigint, text, text) from public;
