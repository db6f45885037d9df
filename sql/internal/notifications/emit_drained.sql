-- emit_drained: tell that a draining backend is empty: nothing lies there, nothing is being stored and no deletion is queued, so remove_backend would
-- succeed. Once per draining: the state that was told is noted. Asked at each sweep, under the lock on its cursor; each look ends at the first row.
create or replace function reaper_internal.emit_drained()
    returns void
    language plpgsql volatile
as $$
declare
    v_name text;
begin
    for v_name in
        select b.name
          from reaper.backend_list b
         where b.state = 'draining'
           and not exists (select from reaper.notified_states s where s.type = 'backend.drained' and s.subject = b.name and s.state = 'drained')
         order by b.name
    loop
        -- In the order of their cost; PostgreSQL might take another one within one condition.
        continue when exists (select from reaper.object_locations l where l.backend = v_name);
        continue when exists (select from reaper.cleanup_queue q where q.backend = v_name);
        continue when exists (select from reaper.cleanup_dlq d where d.backend = v_name);
        continue when exists (select from reaper.backend_remains(v_name));
        if reaper_internal.record_change('backend.drained', v_name, 'drained', 'draining') is not null then
            perform reaper_internal.emit('backend.drained', v_name, jsonb_build_object('backend', v_name) || coalesce(
                (select jsonb_build_object('since', max(a.at))
                   from reaper.audit a
                  where a.action = 'set_backend_state' and a.subject = v_name and a.detail like '% to draining'
                 having count(*) > 0), '{}'));
        end if;
    end loop;
end;
$$;
comment on function reaper_internal.emit_drained() is
    'For sweep_copies: emits backend.drained for each draining backend on which nothing is left, once.';
revoke all on function reaper_internal.emit_drained() from public;
