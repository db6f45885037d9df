-- dlq_reasons: objects whose deletion was given up. Counted up to 100,000; the cause is that of the oldest.
create or replace function reaper_internal.dlq_reasons(p_now timestamptz)
    returns setof text
    language sql stable
as $$
    select format('%s could not be deleted and will not be tried again (the first on backend %s: %s). '
                  'See reaper dlq list; remove the cause, then run reaper dlq retry --all, or reaper dlq drop --all --reason … to write them off',
                  reaper_internal.counted(d.number, 'object'), f.backend, left(f.last_error, 200))
      from (select count(*) as number from (select from reaper.cleanup_dlq limit 100000) as l) as d
     cross join lateral (select l.backend, l.last_error from reaper.cleanup_dlq l order by l.queue_id limit 1) as f;
$$;
comment on function reaper_internal.dlq_reasons(timestamptz) is
    'For attention_reasons: objects in the DLQ, and what to do with them.';
revoke all on function reaper_internal.dlq_reasons(timestamptz) from public;
