-- lock_pass: the row of a pass, locked; a process that was asleep while another went on, or began anew, changes nothing.
create or replace function reaper_internal.lock_pass(p_backend text, p_pass uuid, p_phase text, p_after text)
    returns reaper.reconciliations
    language plpgsql volatile
as $$
declare
    v_pass reaper.reconciliations;
begin
    select * into v_pass from reaper.reconciliations r where r.backend = p_backend for update;
    if v_pass.pass is distinct from p_pass or v_pass.phase <> p_phase or (p_phase = 'listing' and v_pass.after_key <> p_after) then
        perform nextval('reaper.refusals');
        raise exception sqlstate 'RP001' using
            message = format('the pass over backend %s has gone on without this process', p_backend),
            hint    = 'Another process compares this backend now; leave it to that one.';
    end if;
    return v_pass;
end;
$$;
comment on function reaper_internal.lock_pass(text, uuid, text, text) is
    'Locks the row of a backend''s comparison; RP001 unless it is in this pass, phase and position.';
revoke all on function reaper_internal.lock_pass(text, uuid, text, text) from public;
