-- record_plan: plan moves if none is left, or if the plan is an hour old. One caller plans at a time; with many copies that takes longer than others
-- can wait for a lock, so they are told that there is no plan yet, and take no move.
create or replace function reaper_internal.record_plan(p_now timestamptz)
    returns boolean
    language plpgsql volatile
as $$
begin
    if exists (select from reaper.copy_moves m where m.planned_at > p_now - interval '1 hour') then
        return true;
    end if;
    begin
        lock table reaper.copy_moves in share row exclusive mode nowait;
    exception when lock_not_available then
        return false;
    end;
    if exists (select from reaper.copy_moves m where m.planned_at > p_now - interval '1 hour') then
        return true;
    end if;
    delete from reaper.copy_moves;
    insert into reaper.copy_moves (content_hash, source, destination, size_bytes, planned_at)
    select m.content_hash, m.source, m.destination, m.size_bytes, p_now
      from reaper.plan_moves(10000) as m
        on conflict (content_hash) do nothing;
    return true;
end;
$$;
comment on function reaper_internal.record_plan(timestamptz) is
    'For claim_moves: fills copy_moves with what plan_moves() returns, if the last plan is worked off or old; false if another session is doing that.';
revoke all on function reaper_internal.record_plan(timestamptz) from public;
