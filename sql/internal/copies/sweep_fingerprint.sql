-- sweep_fingerprint: what decides who needs copies. With one copy of each content, health and states of backends decide nothing, only
-- draining does: then a change of them starts no pass over all content.
create or replace function reaper_internal.sweep_fingerprint(p_now timestamptz)
    returns text
    language sql stable
as $$
    select s.replication_factor || '|'
           || coalesce((select string_agg(b.name, ',' order by b.name) from reaper.backend_list b where b.state = 'draining'), '') || '|'
           || case when s.replication_factor = 1 then ''
                   else coalesce((select string_agg(h.backend || ':' || h.state || case when h.is_dead then ':dead' else '' end, ',' order by h.backend)
                                    from reaper_internal.backend_health(p_now) as h), '') end
      from reaper.settings s;
$$;
comment on function reaper_internal.sweep_fingerprint(timestamptz) is
    'For sweep_copies: replication factor, draining backends and, with more than one copy, all backends with state and health, as one text.';
revoke all on function reaper_internal.sweep_fingerprint(timestamptz) from public;
