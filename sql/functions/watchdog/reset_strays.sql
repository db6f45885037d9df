-- reset_strays: return marked rows that are in no batch, as a restored backup or a hand-written UPDATE leaves them.
-- There is no index on the mark (it would cost every claim its HOT update), so due rows are read in pages of expiry order.
-- A mark without a time cannot be older than the row's expiry, so its age is counted from there.
-- If all due rows fit into one page they are read at each call; a larger backlog is read once an hour.
create or replace function reaper.reset_strays(p_older_than interval default '2 hours', p_page integer default 10000)
    returns integer
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
declare
    v_now      timestamptz := reaper.clock();
    v_scan     reaper.stray_scan;
    v_seen     integer;
    v_last     timestamptz;
    v_codes    text[];
    v_strays   text[];
    v_returned integer := 0;
begin
    if p_older_than is null or p_older_than < interval '0' or p_page is null or p_page not between 1 and 100000 then
        raise exception sqlstate 'RP005' using
            message = format('invalid p_older_than %s or p_page %s',
                             coalesce(p_older_than::text, 'null'), coalesce(p_page::text, 'null')),
            hint    = 'Give p_older_than such as ''2 hours'' (not negative) and p_page from 1 to 100000.';
    end if;
    select * into v_scan from reaper.stray_scan s for update skip locked;
    if not found or v_scan.rest_until > v_now then
        return 0;
    end if;

    select count(*), max(page.expires_at), array_agg(page.short_code),
           array_agg(page.short_code) filter (where page.deletion_status = 'DELETION_IN_PROGRESS'
                                                and coalesce(page.deletion_initiated_at, page.expires_at) <= v_now - p_older_than)
      into v_seen, v_last, v_codes, v_strays
      from (select p.short_code, p.expires_at, p.deletion_status, p.deletion_initiated_at
              from reaper.pastes p
             where (p.expires_at, p.short_code) > (v_scan.after, v_scan.after_code) and p.expires_at <= v_now
             order by p.expires_at, p.short_code
             limit p_page) as page;

    if v_strays is not null then
        v_strays := array(select s.short_code from unnest(v_strays) as s (short_code)
                          except
                          select unnest(b.short_codes) from reaper.batches b where b.state = 'CLAIMED');
        select r.returned into v_returned from reaper_internal.return_rows(v_strays, null) as r;
    end if;

    update reaper.stray_scan s
       set after      = case when v_seen = p_page then v_last else '-infinity' end,
           after_code = case when v_seen = p_page then v_codes[p_page] else '' end,
           rest_until = case when v_seen < p_page and v_scan.after > '-infinity' then v_now + interval '1 hour' else s.rest_until end;
    return v_returned;
end;
$$;
comment on function reaper.reset_strays(interval, integer) is
    'Returns rows to NOT_EXPIRED that have been DELETION_IN_PROGRESS for p_older_than and are in no batch; reads one page of due rows per call. Called by reset_stuck.';
revoke all on function reaper.reset_strays(interval, integer) from public;
grant execute on function reaper.reset_strays(interval, integer) to reaper_worker, reaper_ops;
