-- delete_needs: contents that are deleted want no copy and have none too many. Rows that other transactions hold are skipped, for a release waits
-- for nothing once it holds pastes; claim_copies and claim_excess delete those when they come to them.
create or replace function reaper_internal.delete_needs(p_hashes text[])
    returns void
    language plpgsql volatile
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
begin
    if exists (select from reaper.copy_wants) then
        delete from reaper.copy_wants w
         where w.content_hash = any (array(select n.content_hash from reaper.copy_wants n where n.content_hash = any (p_hashes) for update skip locked));
    end if;
    if exists (select from reaper.copy_excess) then
        delete from reaper.copy_excess e
         where e.content_hash = any (array(select n.content_hash from reaper.copy_excess n where n.content_hash = any (p_hashes) for update skip locked));
    end if;
end;
$$;
comment on function reaper_internal.delete_needs(text[]) is
    'For release_objects: deletes what copy_wants and copy_excess have of deleted contents.';
revoke all on function reaper_internal.delete_needs(text[]) from public;
