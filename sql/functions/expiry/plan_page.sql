-- plan_page: what a drain would do with the next p_limit due rows; the sum of all pages is what it would do with all of them.
-- A content is counted on the page of its last due paste, so on one page only. Content with more than 100 pastes is read once, on the first
-- page that names it, and returned in `judged`: give these to the next pages. Each page is a short statement, and reads by index only.
create or replace function reaper.plan_page(
    p_now         timestamptz default null,
    p_after       timestamptz default '-infinity',
    p_after_code  text        default null,
    p_limit       integer     default 10000,
    p_judged      text[]      default '{}'
)
    returns table (
        counted_at timestamptz, rows_due bigint, rows_blocked bigint, rows_in_progress bigint, oldest_due timestamptz,
        objects_freed bigint, bytes_freed bigint, objects_unsized bigint, objects_kept bigint,
        last_expires_at timestamptz, last_short_code text, judged text[]
    )
    language plpgsql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
    set plan_cache_mode = force_custom_plan
    set enable_seqscan = off
    set enable_bitmapscan = off
    set enable_hashjoin = off
    set enable_mergejoin = off
    set jit = off
as $$
#variable_conflict use_column
declare
    c_many     constant integer := 100;
    v_now      timestamptz := coalesce(p_now, reaper.clock());
    v_blocked  text[]      := array(select b.short_code from reaper.blocked b where b.next_attempt > v_now);
    v_page     record;
    v_many     text[];
    v_figures  record;
begin
    perform reaper_internal.require_limit(p_limit);

    -- No distinct here: PostgreSQL would sort the rows for it, and the last code would be another.
    select count(*) as due,
           count(*) filter (where d.is_blocked) as blocked,
           count(*) filter (where d.is_claimed and not d.is_blocked) as claimed,
           min(d.expires_at) as oldest, max(d.expires_at) as last, (array_agg(d.short_code))[count(*)] as last_code,
           array_agg(d.content_hash) filter (where not d.is_blocked and not d.is_claimed) as hashes
      into v_page
      from (select p.short_code::text, p.content_hash::text, p.expires_at,
                   p.short_code = any (v_blocked) as is_blocked, p.deletion_status is not distinct from 'DELETION_IN_PROGRESS' as is_claimed
              from reaper.pastes p
             where p.expires_at <= v_now
               and (p.expires_at, p.short_code) >= (coalesce(p_after, '-infinity'), coalesce(p_after_code, ''))
               and (p_after_code is null or (p.expires_at, p.short_code) <> (p_after, p_after_code))
             order by p.expires_at, p.short_code
             limit p_limit) as d;

    with judged as materialized (
        select j.*
          from reaper_internal.judge_contents(
                   array(select distinct h from unnest(v_page.hashes) as h where h <> all (p_judged)), v_blocked, v_now, v_page.last, v_page.last_code,
                   c_many + 1) as j
    ), many as materialized (
        select array_agg(j.content_hash) as hashes from judged j where j.pastes > c_many
    ), counted as materialized (
        select j.content_hash, j.freed, j.kept from judged j where j.pastes <= c_many and not j.is_later
        union all
        select j.content_hash, j.freed, j.kept
          from reaper_internal.judge_contents((select m.hashes from many m), v_blocked, v_now, v_page.last, v_page.last_code, null) as j
    )
    select sum(o.objects)::bigint as objects, sum(o.bytes) as bytes, sum(o.unsized)::bigint as unsized,
           (select count(*) from counted c where c.kept) as kept, (select m.hashes from many m) as many
      into v_figures
      from reaper_internal.objects_of(array(select c.content_hash from counted c where c.freed)) as o;

    return query
        select v_now, v_page.due, v_page.blocked, v_page.claimed, v_page.oldest,
               coalesce(v_figures.objects, 0), least(coalesce(v_figures.bytes, 0), 9223372036854775807)::bigint,
               coalesce(v_figures.unsized, 0), v_figures.kept,
               v_page.last, v_page.last_code, coalesce(v_figures.many, '{}');
end;
$$;
comment on function reaper.plan_page(timestamptz, timestamptz, text, integer, text[]) is
    'What a drain would do with the next p_limit due rows after the cursor (p_after, p_after_code): rows, objects and bytes after dedup. '
    'Give counted_at, last_expires_at, last_short_code and all judged so far to the next call, until rows_due < p_limit. bytes_freed leaves out objects_unsized. Read-only.';
revoke all on function reaper.plan_page(timestamptz, timestamptz, text, integer, text[]) from public;
grant execute on function reaper.plan_page(timestamptz, timestamptz, text, integer, text[]) to reaper_ops, reaper_ro, reaper_worker;
