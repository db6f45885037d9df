-- throttle: should a drain wait before its next batch, and why? Checks replicas that are behind and the oldest snapshot, and names the
-- session that holds it. Without the rights of pg_monitor it sees neither and returns no reason; reaper doctor reports that.
create or replace function reaper.throttle()
    returns table (wait boolean, reason text)
    language plpgsql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
declare
    v_settings  reaper.settings := (select s from reaper.settings s);
    v_replica   record;
    v_holder    record;
begin
    select r.application_name as name, coalesce(r.replay_lag, interval '0') as lag
      into v_replica
      from pg_stat_replication r
     order by r.replay_lag desc nulls last
     limit 1;
    if v_replica.lag > v_settings.max_replica_lag then
        return query select true, format('replica %s is %s behind', v_replica.name, date_trunc('second', v_replica.lag));
        return;
    end if;

    select a.pid, a.usename, a.application_name as name, clock_timestamp() - a.xact_start as age
      into v_holder
      from pg_stat_activity a
     where a.backend_xmin is not null and a.backend_type = 'client backend' and a.pid <> pg_backend_pid()
     order by a.xact_start
     limit 1;
    return query
        select coalesce(v_holder.age > v_settings.max_snapshot_age, false),
               case when v_holder.age > coalesce(v_settings.max_snapshot_age, interval '1 hour')
                    then format('pid %s (%s, %s) holds a snapshot for %s', v_holder.pid, v_holder.usename, v_holder.name,
                                date_trunc('second', v_holder.age)) end;
end;
$$;
comment on function reaper.throttle() is
    'Whether a drain should wait before its next batch, and why: a replica behind settings.max_replica_lag, a snapshot older than settings.max_snapshot_age. '
    'A snapshot older than an hour is named even if no limit is set.';
revoke all on function reaper.throttle() from public;
grant execute on function reaper.throttle() to reaper_worker, reaper_ops, reaper_ro;
