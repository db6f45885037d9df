-- emit_reconciled: tell that a pass over a backend has ended, or that its brake has stopped it (p_brake), in the transaction that says so.
create or replace function reaper_internal.emit_reconciled(p_pass reaper.reconciliations, p_figures jsonb, p_brake numeric default null)
    returns void
    language sql volatile
as $$
    select reaper_internal.emit(
        case when p_brake is null then 'reconcile.finished' else 'reconcile.braked' end, p_pass.backend,
        jsonb_build_object('backend', p_pass.backend, 'looked_at', p_pass.listed + p_pass.missing, 'missing', p_pass.missing)
        || case when p_brake is null
                then jsonb_build_object('untracked', p_pass.unknown, 'imported', coalesce((p_figures ->> 'imported')::bigint, 0),
                                        'deleted', coalesce((p_figures ->> 'queued')::bigint, 0))
                else jsonb_build_object('brake', p_brake) end);
$$;
comment on function reaper_internal.emit_reconciled(reaper.reconciliations, jsonb, numeric) is
    'For finish_reconciliation and record_listed: emits reconcile.finished, or reconcile.braked with the share at which a pass stops.';
revoke all on function reaper_internal.emit_reconciled(reaper.reconciliations, jsonb, numeric) from public;
