-- record_purge: record the figures of the last purge. Of several at the same time one is recorded, so that none waits for another.
create or replace function reaper_internal.record_purge(p_policy text, p_deleted integer, p_at timestamptz, p_took interval)
    returns void
    language sql volatile
as $$
    with free as (
        select p.name from reaper.retention_policies p where p.name = p_policy for no key update skip locked
    )
    update reaper.retention_policies p
       set last_purge_at = p_at,
           last_deleted = p_deleted,
           rows_per_second = case when p_deleted > 0 then round(p_deleted / greatest(extract(epoch from p_took), 0.000001), 1)
                                  else p.rows_per_second end
      from free f
     where p.name = f.name;
$$;
comment on function reaper_internal.record_purge(text, integer, timestamptz, interval) is
    'Records how many rows the last purge of a policy deleted and how fast; skipped while another purge is recording.';
revoke all on function reaper_internal.record_purge(text, integer, timestamptz, interval) from public;
