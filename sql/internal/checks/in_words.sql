-- in_words: the two largest units of a span, as reaper status writes them: 3 h 12 min, 1 d, 45 s.
create or replace function reaper_internal.in_words(p_span interval)
    returns text
    language sql immutable
as $$
    with whole as (
        select greatest(floor(extract(epoch from p_span)), 0)::bigint as seconds
    ), units (number, unit, place) as (
        select w.seconds / 86400, 'd', 1 from whole w
        union all
        select w.seconds / 3600 % 24, 'h', 2 from whole w
        union all
        select w.seconds / 60 % 60, 'min', 3 from whole w
        union all
        select w.seconds % 60, 's', 4 from whole w
    ), largest as (
        select min(u.place) as place from units u where u.number > 0
    )
    select coalesce(string_agg(format('%s %s', u.number, u.unit), ' ' order by u.place), '0 s')
      from units u
      join largest l on u.place between l.place and l.place + 1
     where u.number > 0;
$$;
comment on function reaper_internal.in_words(interval) is
    'A span as text with its two largest units: 3 h 12 min.';
revoke all on function reaper_internal.in_words(interval) from public;
