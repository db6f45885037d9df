-- finish_reconciliation: end a pass and keep its figures.
create or replace function reaper.finish_reconciliation(p_backend text, p_pass uuid, p_figures jsonb default '{}')
    returns void
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
declare
    v_pass reaper.reconciliations := reaper_internal.lock_pass(p_backend, p_pass, 'settling', null);
begin
    update reaper.reconciliations r
       set phase = 'idle', finished_at = reaper.clock(), after_key = '',
           -- The caller knows of its last run only.
           last_result = p_figures || jsonb_build_object('listed', v_pass.listed, 'expected', v_pass.expected, 'missing', v_pass.missing,
                                                         'unknown', v_pass.unknown, 'recorded', v_pass.recorded)
     where r.backend = p_backend;
    perform reaper_internal.emit_reconciled(v_pass, p_figures);
end;
$$;
comment on function reaper.finish_reconciliation(text, uuid, jsonb) is
    'Ends a pass whose listing has ended, and keeps its figures. RP001 if the pass has gone on without the caller.';
revoke all on function reaper.finish_reconciliation(text, uuid, jsonb) from public;
grant execute on function reaper.finish_reconciliation(text, uuid, jsonb) to reaper_worker, reaper_ops;
