-- record_scrubbed: record how far the scrubber has read, after what it found was reported. With a brake the position stays where it was.
create or replace function reaper.record_scrubbed(p_backend text, p_after text, p_looked bigint, p_bad bigint, p_bytes bigint, p_brake text)
    returns void
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
    set enable_seqscan = off
    set jit = off
as $$
declare
    v_now  timestamptz := reaper.clock();
    v_day  date := (v_now at time zone 'UTC')::date;
begin
    perform reaper_internal.require_known_backend(p_backend);
    insert into reaper.reconciliations (backend) values (p_backend) on conflict do nothing;
    update reaper.reconciliations r
       set scrub_after  = case when p_brake is null then p_after else r.scrub_after end,
           scrub_brake  = p_brake,
           scrub_began  = case when r.scrub_began > v_now - interval '1 day' then r.scrub_began else v_now end,
           scrub_looked = case when p_brake is not null then 0 when r.scrub_began > v_now - interval '1 day' then r.scrub_looked else 0 end
                          + case when p_brake is null then p_looked else 0 end,
           scrub_bad    = case when p_brake is not null then 0 when r.scrub_began > v_now - interval '1 day' then r.scrub_bad else 0 end
                          + case when p_brake is null then p_bad else 0 end,
           scrub_bytes  = case when r.scrub_day = v_day then r.scrub_bytes else 0 end + p_bytes,
           scrub_day    = v_day
     where r.backend = p_backend;
    -- At the end of a round: what was released since it was missed.
    if p_after = '' and p_brake is null then
        delete from reaper.suspects s
         where s.backend = p_backend and s.pass is null and s.first_seen < v_now - interval '1 day'
           and not exists (select from reaper.object_locations l where l.backend = s.backend and l.object_key = s.object_key);
    end if;
    -- Counted once a day: it reads every location row of the backend.
    if not exists (select from reaper.reconciliations r where r.backend = p_backend and r.counted_at > v_now - interval '1 day') then
        update reaper.reconciliations r
           set copies = c.copies, verified = c.verified, oldest = c.oldest, counted_at = v_now
          from (select count(*) as copies, count(*) filter (where l.verified_at > v_now - interval '30 days') as verified,
                       min(coalesce(l.verified_at, '-infinity')) as oldest
                  from reaper.object_locations l where l.backend = p_backend) as c
         where r.backend = p_backend;
    end if;
end;
$$;
comment on function reaper.record_scrubbed(text, text, bigint, bigint, bigint, text) is
    'Records the position of the scrubber on a backend and its figures; with p_brake, why it stopped. Counts the backend''s verified copies once a day.';
revoke all on function reaper.record_scrubbed(text, text, bigint, bigint, bigint, text) from public;
grant execute on function reaper.record_scrubbed(text, text, bigint, bigint, bigint, text) to reaper_worker, reaper_ops;
