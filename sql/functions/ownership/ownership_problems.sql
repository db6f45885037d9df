-- ownership_problems: backends whose bucket is not ours, one sentence each, with the remedy. A copy is told without asking any bucket:
-- until a process found its own marker there, none of its backends counts as its own.
create or replace function reaper.ownership_problems()
    returns setof text
    language sql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
    select format('backend %s is not ours, nothing is deleted or stored there: %s. '
                  'If the bucket belongs to this database: reaper backend take-over %s --reason …',
                  b.name,
                  coalesce(o.detail, format('this database is a copy, or was moved: recorded as %s on system %s, now %s on system %s',
                                            coalesce(i.recorded_database, 'nothing'), coalesce(i.recorded_system_identifier::text, 'nothing'),
                                            i.database, i.system_identifier)),
                  b.name)
      from reaper.installation_identity() as i
     cross join reaper.backend_list b
      left join reaper.backend_owners o
             on o.backend = b.name
            and (o.installation_id, o.database, o.system_identifier) = (i.installation_id, i.database, i.system_identifier)
     where o.state = 'other' or (o.state is null and not i.is_recorded_here)
     order by b.name;
$$;
comment on function reaper.ownership_problems() is
    'One sentence per backend whose bucket belongs to another installation, or whose owner is unknown in a copied or moved database; empty if all is well. Part of reaper.health.';
revoke all on function reaper.ownership_problems() from public;
grant execute on function reaper.ownership_problems() to reaper_worker, reaper_ops, reaper_ro;
