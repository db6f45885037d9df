-- integrity_reasons: contents of which no good copy is left, backends whose comparison or reading was stopped.
create or replace function reaper_internal.integrity_reasons()
    returns setof text
    language sql stable
as $$
    select format('%s contents have no good copy left, such as %s (%s). Their bytes are kept: restore them under the same key, then reaper scrub HASH. See docs/integrity.md',
                  count(*), min(w.content_hash), min(w.last_error))
      from reaper.copy_wants w
     where w.good = 0 and w.reason in ('missing', 'corrupt')
    having count(*) > 0
    union all
    select format('comparison of backend %s stopped: %s. Check its bucket, prefix and endpoint, then reaper reconcile --backend %s', r.backend, r.brake_reason, r.backend)
      from reaper.reconciliations r
     where r.phase = 'braked'
    union all
    select format('reading of backend %s stopped: %s. Check the store, then reaper service run scrubber --here', r.backend, r.scrub_brake)
      from reaper.reconciliations r
     where r.scrub_brake is not null;
$$;
comment on function reaper_internal.integrity_reasons() is
    'For attention_reasons: contents without a good copy, and backends on which a brake stopped the reconciler or the scrubber.';
revoke all on function reaper_internal.integrity_reasons() from public;
