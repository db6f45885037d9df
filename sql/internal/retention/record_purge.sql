-- record_purge: the figures of the last purge. Of several at once only one is written: none may wait for another's commit.
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
    'Writes down what the last purge of a policy deleted and how fast; leaves it when another purge is just doing so.';
revoke all on function reaper_internal.record_purge(text, integer, timestamptz, interval) from public;
