-- emit_drain_finished: tell that a drain is complete: nothing is due but blocked rows, no batch is left, and batches were finished since it was
-- told last. Callers hold the lock on the drain's row, so that of two slots that end together the second sees all batches of the first.
create or replace function reaper_internal.emit_drain_finished()
    returns void
    language plpgsql volatile
as $$
declare
    v_now    timestamptz := reaper.clock();
    v_since  timestamptz := coalesce(
        (select s.changed_at from reaper.notified_states s where s.type = 'drain.finished' and s.subject = 'drain'),
        (select min(w.created_at) from reaper.webhooks w));
    v_done   jsonb;
begin
    if exists (select from reaper.batches)
       or exists (select from reaper.pastes p
                   where p.expires_at <= v_now
                     and not exists (select from reaper.blocked b where b.short_code = p.short_code and b.next_attempt > v_now)) then
        return;
    end if;
    select jsonb_build_object(
               'since', v_since, 'batches', count(*), 'rows_deleted', sum(r.rows_deleted), 'rows_blocked', sum(r.rows_blocked),
               'objects_deleted', sum(r.objects_deleted), 'objects_failed', sum(r.objects_failed),
               'bytes_freed', least(sum(r.bytes_freed), 9007199254740991))
      into v_done
      from reaper.runs r
     where r.finished_at > v_since and r.finished_at <= v_now
    having count(*) > 0;
    if v_done is null then
        return;
    end if;
    insert into reaper.notified_states (type, subject, state, changed_at)
    values ('drain.finished', 'drain', 'finished', v_now)
        on conflict (type, subject) do update set changed_at = excluded.changed_at;
    perform reaper_internal.emit('drain.finished', 'drain', v_done);
end;
$$;
comment on function reaper_internal.emit_drain_finished() is
    'For emit_run: emits drain.finished, with the figures since the last one, if nothing is due and no batch is left.';
revoke all on function reaper_internal.emit_drain_finished() from public;
