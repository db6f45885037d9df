-- plan_moves: what the rebalancer would move, against simulated bytes, largest first; nothing is changed.
-- spread: from a backend to the emptiest that takes it, while their utilisation differs by more than the threshold, and never so much that the
-- destination becomes the fuller one. pack: from the emptiest to the fullest that takes it, which keep the share of the threshold free. Each move
-- goes one way in an order that no move changes, so a plan ends, and after it a second one is empty.
create or replace function reaper.plan_moves(p_limit integer default 1000)
    returns table (content_hash text, size_bytes bigint, source text, destination text)
    language plpgsql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
    set jit = off
as $$
#variable_conflict use_column
declare
    v_now     timestamptz := reaper.clock();
    v_rules   record;
    v_names   text[];
    v_quotas  numeric[];
    v_stored  numeric[];
    v_rooms   numeric[];
    v_copy    record;
    v_from    integer;
    v_to      integer;
    v_moves   integer := 0;
begin
    perform reaper_internal.require_limit(p_limit);
    select s.rebalance_strategy as strategy, s.rebalance_threshold as threshold into v_rules from reaper.settings s;
    -- The order of utilisation: pack moves only upwards in it.
    select array_agg(b.backend), array_agg(b.quota), array_agg(b.stored), array_agg(b.room)
      into v_names, v_quotas, v_stored, v_rooms
      from (select * from reaper_internal.rebalanced_backends(v_now) as r order by r.stored / r.quota, r.backend) as b;
    if coalesce(cardinality(v_names), 0) < 2 or reaper_internal.most_backends_fail()
       or (v_rules.strategy = 'spread'
           and v_stored[cardinality(v_names)] / v_quotas[cardinality(v_names)] - v_stored[1] / v_quotas[1] <= v_rules.threshold)
    then
        return;
    end if;
    for v_copy in
        select m.content_hash, m.backend, m.size_bytes,
               array(select l.backend from reaper.object_locations l where l.content_hash = m.content_hash) as holders
          from reaper_internal.movable_copies(v_names) as m
         order by case when v_rules.strategy = 'pack' then array_position(v_names, m.backend) end, m.size_bytes desc, m.content_hash
    loop
        v_from := array_position(v_names, v_copy.backend);
        v_to := reaper_internal.choose_move(v_rules.strategy, v_rules.threshold, v_names, v_quotas, v_stored, v_rooms, v_from, v_copy.holders, v_copy.size_bytes);
        continue when v_to is null;
        v_stored[v_from] := v_stored[v_from] - v_copy.size_bytes;
        v_stored[v_to] := v_stored[v_to] + v_copy.size_bytes;
        v_rooms[v_to] := v_rooms[v_to] - v_copy.size_bytes;
        return query select v_copy.content_hash, v_copy.size_bytes, v_copy.backend, v_names[v_to];
        v_moves := v_moves + 1;
        exit when v_moves = p_limit;
    end loop;
end;
$$;
comment on function reaper.plan_moves(integer) is
    'Up to p_limit copies that the rebalancer would move, by settings.rebalance_strategy and rebalance_threshold: content, bytes, from, to. Backends without a quota take no part. Reads all copies on backends with a quota.';
revoke all on function reaper.plan_moves(integer) from public;
grant execute on function reaper.plan_moves(integer) to reaper_worker, reaper_ops, reaper_ro;
