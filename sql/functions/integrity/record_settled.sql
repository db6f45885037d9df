-- record_settled: move the position of a pass whose listing has ended behind an untracked object that was acted upon, so that the next run does
-- not read again what was refused.
create or replace function reaper.record_settled(p_backend text, p_pass uuid, p_after text)
    returns void
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
    set lock_timeout = '2s'
as $$
begin
    perform reaper_internal.lock_pass(p_backend, p_pass, 'settling', null);
    update reaper.reconciliations r set after_key = p_after where r.backend = p_backend;
end;
$$;
comment on function reaper.record_settled(text, uuid, text) is
    'Records up to which untracked object a pass whose listing has ended has acted. RP001 if the pass has gone on without the caller.';
revoke all on function reaper.record_settled(text, uuid, text) from public;
grant execute on function reaper.record_settled(text, uuid, text) to reaper_worker, reaper_ops;
