-- settle_needs: judge a content anew after one of its copies was added, removed or judged. The caller holds its row, so nothing changes the
-- copies meanwhile; a want that is still there is due at once.
create or replace function reaper_internal.settle_needs(p_content_hash text, p_now timestamptz)
    returns void
    language plpgsql volatile
as $$
declare
    v_need record;
begin
    select * into v_need from reaper_internal.copy_needs(array[p_content_hash], p_now);
    if v_need.is_wanted or v_need.is_excess then
        perform reaper_internal.enter_needs(array[p_content_hash], p_now);
    end if;
    if v_need.is_wanted then
        update reaper.copy_wants w
           set next_attempt = case when w.good > 0 then p_now else w.next_attempt end, attempts = 0, last_error = null
         where w.content_hash = p_content_hash;
    else
        delete from reaper.copy_wants w where w.content_hash = p_content_hash;
    end if;
end;
$$;
comment on function reaper_internal.settle_needs(text, timestamptz) is
    'For commit_copy, commit_put, report_copy and remove_copy: enters or removes the want of a content whose row the caller holds.';
revoke all on function reaper_internal.settle_needs(text, timestamptz) from public;
