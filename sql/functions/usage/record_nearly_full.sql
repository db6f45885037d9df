-- record_nearly_full: look which quotas and monthly limits are nearly used up, and record each crossing once; what is below again is
-- forgotten, so that the next crossing is a new one.
create or replace function reaper.record_nearly_full()
    returns integer
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
    set lock_timeout = '2s'
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
declare
    v_now   timestamptz := reaper.clock();
    v_near  numeric := (select s.near_limit from reaper.settings s);
    v_new   integer;
begin
    delete from reaper.nearly_full n
     where not exists (select from reaper_internal.limits_in_use(v_now) as l
                        where (l.backend, l.what) = (n.backend, n.what) and l.used >= v_near * l.amount);
    select count(*) filter (where reaper_internal.announce_nearly_full(l.backend, l.what, l.used, l.amount, v_now))
      into v_new
      from (select * from reaper_internal.limits_in_use(v_now) as i where i.used >= v_near * i.amount order by i.backend, i.what) as l;
    return v_new;
end;
$$;
comment on function reaper.record_nearly_full() is
    'Records in reaper.nearly_full which quotas and monthly limits have reached settings.near_limit, and deletes what is below again; returns how many are new.';
revoke all on function reaper.record_nearly_full() from public;
grant execute on function reaper.record_nearly_full() to reaper_worker, reaper_ops;
