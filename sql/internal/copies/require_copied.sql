-- require_copied: refuse bytes that are not the content's, before anything is locked. What replaces a
-- copy, a move or a repair, must have been verified at its destination.
create or replace function reaper_internal.require_copied(p_intent reaper.copy_intents, p_size bigint, p_sha256 text, p_verified boolean)
    returns void
    language plpgsql stable
as $$
begin
    if p_size is null or p_size < 0 or p_verified is null or p_size <> p_intent.size_bytes then
        raise exception sqlstate 'RP005' using
            message = format('copy of content %s: %s bytes are stored, it has %s', p_intent.content_hash,
                             coalesce(p_size::text, 'an unknown number of'), coalesce(p_intent.size_bytes::text, 'an unknown number')),
            hint    = 'Report the source as corrupt with report_copy, try the next one, or call fail_copy.';
    end if;
    if reaper_internal.is_digest(p_intent.content_hash) and lower(p_sha256) <> lower(p_intent.content_hash) then
        raise exception sqlstate 'RP005' using
            message = format('copy of content %s: the stored bytes have the SHA-256 %s', p_intent.content_hash, p_sha256),
            hint    = 'Report the source as corrupt with report_copy, try the next one, or call fail_copy.';
    end if;
    if p_intent.purpose in ('move', 'repair') and not p_verified then
        raise exception sqlstate 'RP005' using
            message = format('%s of content %s: the new object was not verified', p_intent.purpose, p_intent.content_hash),
            hint    = 'Compare it at its destination, by a checksum of the store or by reading it, and pass p_verified => true; or call fail_copy.';
    end if;
end;
$$;
comment on function reaper_internal.require_copied(reaper.copy_intents, bigint, text, boolean) is
    'For commit_copy: RP005 for a wrong size or digest, and for a move or repair whose object was not verified.';
revoke all on function reaper_internal.require_copied(reaper.copy_intents, bigint, text, boolean) from public;
