-- record_digest_sample: if a hundred objects of an adopted table were read and each has the SHA-256 that its content_hash says, the hashes are
-- digests of the stored bytes, and copies are compared with them from now on. One that differs proves nothing, and nothing is changed.
create or replace function reaper.record_digest_sample(p_looked bigint, p_matched bigint)
    returns boolean
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
begin
    if p_looked < 100 or p_matched <> p_looked then
        return false;
    end if;
    update reaper.settings s set content_digest = 'sha256' where s.content_digest = 'unknown';
    if found then
        perform reaper_internal.record_audit('record_digest_sample', 'settings', null, format('content_digest is sha256: %s of %s objects matched', p_matched, p_looked));
    end if;
    return found;
end;
$$;
comment on function reaper.record_digest_sample(bigint, bigint) is
    'Sets settings.content_digest to sha256 if at least 100 objects were read and all match; true if that changed it. Audited.';
revoke all on function reaper.record_digest_sample(bigint, bigint) from public;
grant execute on function reaper.record_digest_sample(bigint, bigint) to reaper_worker, reaper_ops;
