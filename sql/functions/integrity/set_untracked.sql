-- set_untracked: what is to happen on a backend to objects that no row names and that were seen again after a day.
create or replace function reaper.set_untracked(p_backend text, p_action text, p_reason text default null)
    returns void
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
begin
    if p_action is null or p_action not in ('report', 'import', 'delete') then
        raise exception sqlstate 'RP005' using
            message = format('invalid action for untracked objects: %s', coalesce(quote_literal(p_action), 'null')),
            hint    = 'Give report, import or delete.';
    end if;
    perform reaper_internal.require_known_backend(p_backend);
    if p_action = 'import' and (select s.content_digest <> 'sha256' from reaper.settings s) then
        raise exception sqlstate 'RP005' using
            message = 'objects cannot be imported: it is not known that content hashes are SHA-256',
            hint    = 'If they are the SHA-256 of the stored bytes: update reaper.settings set content_digest = ''sha256''.';
    end if;
    insert into reaper.reconciliations as r (backend, untracked) values (p_backend, p_action)
        on conflict (backend) do update set untracked = excluded.untracked;
    perform reaper_internal.record_audit('set_untracked', 'backend:' || p_backend, p_reason, p_action);
end;
$$;
comment on function reaper.set_untracked(text, text, text) is
    'Sets what the reconciler does with objects that no row names and that it has seen again after a day: report (only counts them), import (those whose key names the SHA-256 of their bytes), '
    'delete (through the cleanup queue). Audited. RP005 for another action, an unknown backend, or import without settings.content_digest = ''sha256''.';
revoke all on function reaper.set_untracked(text, text, text) from public;
grant execute on function reaper.set_untracked(text, text, text) to reaper_ops;
