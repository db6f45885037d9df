-- unreferenced_among: those of these contents that are old and that no paste names, by the rule of unreferenced_content.
create or replace function reaper_internal.unreferenced_among(p_hashes text[], p_before timestamptz)
    returns text[]
    language plpgsql stable
    set enable_seqscan = off
    set enable_bitmapscan = off
    set enable_hashjoin = off
    set enable_mergejoin = off
    set jit = off
as $$
declare
    v_unknown timestamptz := reaper_internal.fallback_created_at();
begin
    return array(select c.content_hash
                   from reaper.content c
                  where c.content_hash = any (p_hashes)
                    and coalesce(c.created_at::timestamptz, v_unknown) <= p_before
                    and not exists (select from reaper.pastes p where p.content_hash = c.content_hash));
end;
$$;
comment on function reaper_internal.unreferenced_among(text[], timestamptz) is
    'For collect_unreferenced: the contents among p_hashes that no paste names and that existed before p_before.';
revoke all on function reaper_internal.unreferenced_among(text[], timestamptz) from public;
