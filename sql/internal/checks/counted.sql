-- counted: a number with its noun, as reaper status writes it: 1 row, 1,234 rows, at least 100,000 rows. Figures stop at 100,000.
create or replace function reaper_internal.counted(p_number bigint, p_noun text, p_plural text default null)
    returns text
    language sql immutable
as $$
    select case when p_number >= 100000 then 'at least ' else '' end || reaper_internal.number_of(p_number, p_noun, p_plural);
$$;
comment on function reaper_internal.counted(bigint, text, text) is
    'A number with its noun: 1 row, 1,234 rows; from 100,000 on, where counting stops, at least 100,000 rows.';
revoke all on function reaper_internal.counted(bigint, text, text) from public;
