do $$
declare
    v_rows bigint := (select count(*) from reaper.cleanup_queue q where q.passes_left > 1)
                   + (select count(*) from reaper.cleanup_dlq d where d.passes_left > 1)
                   + (select count(*) from reaper.settings s where s.keep_codes <> interval '3 days');
begin
    if v_rows > 0 then
        raise exception sqlstate 'RP007' using
            message = format('%s keys that are to be deleted twice, or settings, would be forgotten', v_rows),
            hint    = 'Let a worker settle the cleanup queue and reset settings.keep_codes, then roll back.';
    end if;
end;
$$;
alter table reaper.settings drop column if exists keep_codes;
alter table reaper.runs drop column if exists content_hashes, drop column if exists short_codes;
create index if not exists cleanup_queue_due on reaper.cleanup_queue (next_attempt);
drop index if exists reaper.cleanup_queue_due_by_backend;
drop index if exists reaper.cleanup_dlq_cause;
drop index if exists reaper.cleanup_queue_lease;
alter table reaper.cleanup_dlq drop column if exists passes_left, drop column if exists cause;
alter table reaper.cleanup_queue drop column if exists passes_left, drop column if exists outages;
