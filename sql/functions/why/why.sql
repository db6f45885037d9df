-- why: the history of one paste or content, in order of time, and why it is still stored.
-- The subject may be a code and a hash at once; then both histories are returned. Read-only, one snapshot.
create or replace function reaper.why(p_subject text)
    returns table (at timestamptz, subject text, event text, detail text)
    language sql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
    select s.at, 'paste', s.event, s.detail from reaper_internal.history_of_paste(p_subject) as s
    union all
    select null, 'paste', 'now', v.verdict
      from reaper_internal.state_of_paste(p_subject) as v (verdict)
     where v.verdict is not null
    union all
    select s.at, 'content', s.event, s.detail from reaper_internal.history_of_content(p_subject) as s
    union all
    select null, 'content', 'now', v.verdict
      from reaper_internal.state_of_content(p_subject) as v (verdict)
     where v.verdict is not null
     order by 2 desc, 1 nulls last, 3, 4;
$$;
comment on function reaper.why(text) is
    'History of a paste (by its code) or a content (by its hash), oldest first; the last line of each says why it is still stored, or that it is deleted. '
    'No row if nothing is known: it never existed, or was deleted longer ago than settings.keep_codes.';
revoke all on function reaper.why(text) from public;
grant execute on function reaper.why(text) to reaper_worker, reaper_ops, reaper_ro;
