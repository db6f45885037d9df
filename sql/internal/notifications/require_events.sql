-- require_events: patterns as they are stored: without io.reaper., sorted, each once. A pattern that matches no event is refused: it would be
-- silent for ever.
create or replace function reaper_internal.require_events(p_events text[])
    returns text[]
    language plpgsql immutable
as $$
declare
    v_events   text[] := array(select distinct regexp_replace(e.pattern, '^io\.reaper\.', '') from unnest(p_events) as e (pattern) order by 1);
    v_unknown  text[] := array(select e.pattern from unnest(v_events) as e (pattern)
                                where not exists (select from unnest(reaper_internal.event_types()) as t (type)
                                                   where e.pattern = any (reaper_internal.matching_patterns(t.type))));
begin
    if v_events = '{}' or v_unknown <> '{}' or array_position(p_events, null) is not null then
        raise exception sqlstate 'RP005' using
            message = case when v_unknown <> '{}' then format('unknown events: %s', array_to_string(v_unknown, ', ', 'null'))
                           else 'p_events must name at least one event' end,
            hint    = format('Name events, prefixes such as circuit.*, or * for all: %s.', array_to_string(reaper_internal.event_types(), ', '));
    end if;
    return v_events;
end;
$$;
comment on function reaper_internal.require_events(text[]) is
    'Returns the patterns as they are stored; RP005 if there is none, or one that matches no event.';
revoke all on function reaper_internal.require_events(text[]) from public;
