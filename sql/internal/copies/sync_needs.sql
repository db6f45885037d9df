-- sync_needs: judge contents anew after a copy of each was added, removed or judged. The caller holds their rows, so nothing changes the
-- copies meanwhile; a want that is still there is due at once. Contents that are gone want nothing.
create or replace function reaper_internal.sync_needs(p_hashes text[], p_now timestamptz)
    returns void
    language plpgsql volatile
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
declare
    v_living  text[] := array(select c.content_hash from reaper.content c where c.content_hash = any (array(select unnest(p_hashes) collate "default")));
    v_wanted  text[];
    v_excess  text[];
begin
    select coalesce(array_agg(n.content_hash) filter (where n.is_wanted), '{}'), coalesce(array_agg(n.content_hash) filter (where n.is_excess), '{}')
      into v_wanted, v_excess
      from reaper_internal.copy_needs(v_living, p_now) as n;
    if exists (select from reaper.copy_wants) then
        delete from reaper.copy_wants w where w.content_hash = any (p_hashes) and w.content_hash <> all (v_wanted);
    end if;
    if exists (select from reaper.copy_excess) then
        delete from reaper.copy_excess e where e.content_hash = any (p_hashes) and e.content_hash <> all (v_excess);
    end if;
    if v_wanted || v_excess <> '{}' then
        perform reaper_internal.record_needs(v_living, p_now);
        update reaper.copy_wants w
           set next_attempt = p_now, attempts = 0, last_error = null
         where w.content_hash = any (v_wanted) and w.good > 0;
    end if;
end;
$$;
comment on function reaper_internal.sync_needs(text[], timestamptz) is
    'For commit_copies, commit_put, report_copy and remove_copy: enters or removes the wants of contents whose rows the caller holds.';
revoke all on function reaper_internal.sync_needs(text[], timestamptz) from public;
