-- choose_move: where the rebalancer would move so many bytes, among backends in the order of utilisation when the plan began: the emptiest that
-- still is the emptier one afterwards, if the source is above the average (spread), or the fullest above the source that keeps its free share (pack). Null if nowhere.
create or replace function reaper_internal.choose_move(
    p_strategy    text,
    p_threshold   numeric,
    p_names       text[],
    p_quotas      numeric[],
    p_stored      numeric[],
    p_rooms       numeric[],
    p_from        integer,
    p_holders     text[],
    p_size_bytes  bigint
)
    returns integer
    language sql immutable
as $$
    select t.place
      from generate_subscripts(p_names, 1) as t (place)
     cross join (select sum(n.stored) / sum(n.quota) as mean from unnest(p_stored, p_quotas) as n (stored, quota)) as m
     cross join lateral (select p_stored[t.place] / p_quotas[t.place] as utilisation) as u
     where t.place <> p_from and p_rooms[t.place] >= p_size_bytes and p_names[t.place] <> all (p_holders)
       and case p_strategy
                when 'pack' then t.place > p_from and p_stored[t.place] + p_size_bytes <= (1 - p_threshold) * p_quotas[t.place]
                else p_stored[p_from] / p_quotas[p_from] > m.mean
                     and p_stored[p_from] / p_quotas[p_from] - u.utilisation > p_threshold
                     and (p_stored[t.place] + p_size_bytes) / p_quotas[t.place] <= (p_stored[p_from] - p_size_bytes) / p_quotas[p_from] end
     order by case p_strategy when 'pack' then -u.utilisation else u.utilisation end, t.place
     limit 1;
$$;
comment on function reaper_internal.choose_move(text, numeric, text[], numeric[], numeric[], numeric[], integer, text[], bigint) is
    'For plan_moves: position of the backend that would take a copy; null if none.';
revoke all on function reaper_internal.choose_move(text, numeric, text[], numeric[], numeric[], numeric[], integer, text[], bigint) from public;
