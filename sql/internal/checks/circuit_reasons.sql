-- circuit_reasons: backends that do not answer: their circuit is open, or being probed.
create or replace function reaper_internal.circuit_reasons(p_now timestamptz)
    returns setof text
    language sql stable
as $$
    select format('backend %s does not answer since %s: %s. Its objects wait in the queue, the next probe is at %s. '
                  'Check that the store runs and what reaper doctor says of it; if the backend is gone for good: select reaper.record_backend_success(%L)',
                  c.backend, reaper_internal.moment(c.changed_at), left(coalesce(c.last_error, 'no error text'), 200),
                  reaper_internal.moment(greatest(c.retry_at, p_now)), c.backend)
      from reaper.circuits c
     where c.state <> 'closed'
     order by c.backend;
$$;
comment on function reaper_internal.circuit_reasons(timestamptz) is
    'For attention_reasons: backends that do not answer.';
revoke all on function reaper_internal.circuit_reasons(timestamptz) from public;
