-- unreferenced_content: content that no paste names, as it remains if an application deletes pastes itself.
-- Young content is left out: an application may store it first and its paste later. If created_at is unknown, the row is as old as the
-- column if reaper's migration added it; else its age is unknown and the row is left out.
create or replace function reaper.unreferenced_content(p_older_than interval default '7 days')
    returns table (content_hash text, object_key text, size_bytes bigint, ref_count bigint, created_at timestamptz)
    language plpgsql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
#variable_conflict use_column
begin
    perform reaper_internal.require_age(p_older_than);
    return query
        select c.content_hash::text, c.object_key::text, c.size_bytes::bigint, c.ref_count::bigint, c.created_at::timestamptz
          from reaper.content c
         where coalesce(c.created_at::timestamptz, reaper_internal.fallback_created_at()) <= reaper.clock() - p_older_than
           and not exists (select from reaper.pastes p where p.content_hash = c.content_hash)
         order by c.content_hash;
end;
$$;
comment on function reaper.unreferenced_content(interval) is
    'Content that no paste names and that is older than p_older_than: what collect_unreferenced() would delete. Reads all of content.';
revoke all on function reaper.unreferenced_content(interval) from public;
grant execute on function reaper.unreferenced_content(interval) to reaper_worker, reaper_ops, reaper_ro;
