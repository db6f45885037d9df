-- emit_run: tell what the end of a run means: the service failed for the third time in a row (as in attention_reasons), it works again, or
-- the drain has nothing left.
create or replace function reaper_internal.emit_run(p_name text, p_failures_before integer, p_error text)
    returns void
    language plpgsql volatile
as $$
begin
    if p_error is not null and p_failures_before = 2 then
        perform reaper_internal.emit('service.failing', p_name, jsonb_build_object('service', p_name, 'failures', 3, 'error', left(p_error, 2000)));
    elsif p_error is null and p_failures_before >= 3 then
        perform reaper_internal.emit('service.recovered', p_name, jsonb_build_object('service', p_name, 'failures', p_failures_before));
    end if;
    if p_name = 'drain' and p_error is null and reaper_internal.is_subscribed('drain.finished') then
        perform reaper_internal.emit_drain_finished();
    end if;
end;
$$;
comment on function reaper_internal.emit_run(text, integer, text) is
    'For finish_run: emits service.failing at the third failure in a row, service.recovered at the first success after that, and drain.finished.';
revoke all on function reaper_internal.emit_run(text, integer, text) from public;
