-- record_backend_owner: record whose bucket the marker of a backend names, so that all processes and operators see it. What was compared
-- under another identity is not recorded: the identity may have been renewed meanwhile. An unchanged result is written once a minute.
create or replace function reaper.record_backend_owner(p_backend text, p_installation_id uuid, p_state text, p_detail text)
    returns void
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
    set lock_timeout = '2s'
as $$
begin
    if p_state is null or p_state not in ('ours', 'other') then
        raise exception sqlstate 'RP005' using
            message = format('invalid owner state: %s', coalesce(quote_literal(p_state), 'null')),
            hint    = 'Give ours (the marker names this installation) or other.';
    end if;
    insert into reaper.backend_owners as o (backend, state, detail, checked_at, installation_id, database, system_identifier)
    select p_backend, p_state, left(coalesce(p_detail, ''), 1000), reaper.clock(), i.installation_id, i.database, i.system_identifier
      from reaper.installation_identity() as i
     where i.installation_id = p_installation_id
        on conflict (backend) do update
       set state             = excluded.state,
           detail            = excluded.detail,
           checked_at        = excluded.checked_at,
           installation_id   = excluded.installation_id,
           database          = excluded.database,
           system_identifier = excluded.system_identifier
     where (o.state, o.detail, o.installation_id, o.database, o.system_identifier)
           is distinct from (excluded.state, excluded.detail, excluded.installation_id, excluded.database, excluded.system_identifier)
        or o.checked_at < excluded.checked_at - interval '1 minute';
end;
$$;
comment on function reaper.record_backend_owner(text, uuid, text, text) is
    'Records what a process found when it compared the marker of a backend with the identity of this installation: ours or other. '
    'Changes nothing if the installation is no longer the one that compared.';
revoke all on function reaper.record_backend_owner(text, uuid, text, text) from public;
grant execute on function reaper.record_backend_owner(text, uuid, text, text) to reaper_worker, reaper_app, reaper_ops;
