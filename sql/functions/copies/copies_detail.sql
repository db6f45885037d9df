-- copies_detail: all that is known of the copies of one content: where they lie and in what condition, which are being made, wanted or too many.
create or replace function reaper.copies_detail(p_content_hash text)
    returns table (
        kind text, backend text, object_key text, size_bytes bigint, since timestamptz, verified_at timestamptz, trouble text,
        trouble_at timestamptz, circuit text, state text, detail text
    )
    language sql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
    select 'copy', k.backend, k.object_key, k.size_bytes, l.created_at, l.verified_at, l.trouble, l.trouble_at,
           coalesce(c.state, 'closed'), b.state,
           case when l.content_hash is null then 'stored by the application, not recorded yet' end
      from reaper.copies_of(p_content_hash) as k
      left join reaper.object_locations l on l.content_hash = p_content_hash and l.backend = k.backend
      left join reaper.backend_list b on b.name = k.backend
      left join reaper.circuits c on c.backend = k.backend
    union all
    select 'in progress', i.destination, i.object_key, i.size_bytes, i.begun_at, null, null, null, coalesce(c.state, 'closed'), b.state,
           format('%s from %s, lease until %s', i.purpose, i.source, i.lease_until)
      from reaper.copy_intents i
      left join reaper.backend_list b on b.name = i.destination
      left join reaper.circuits c on c.backend = i.destination
     where i.content_hash = p_content_hash
    union all
    select 'wanted', null, null, null, w.queued_at, null, null, null, null, null,
           format('%s: %s good copies, %s failed attempts, next at %s%s', w.reason, w.good, w.attempts, w.next_attempt, ': ' || w.last_error)
      from reaper.copy_wants w
     where w.content_hash = p_content_hash
    union all
    select 'too many', null, null, null, e.queued_at, null, null, null, null, null,
           format('next look at %s%s', e.next_attempt, ': ' || e.last_error)
      from reaper.copy_excess e
     where e.content_hash = p_content_hash
    union all
    select 'planned move', m.destination, null, m.size_bytes, m.planned_at, null, null, null, null, b.state, 'from ' || m.source
      from reaper.copy_moves m
      left join reaper.backend_list b on b.name = m.destination
     where m.content_hash = p_content_hash;
$$;
comment on function reaper.copies_detail(text) is
    'Copies of a content in the order in which they are read (copy), and those that are in progress, wanted, too many or to be moved (kind), with what is known of each.';
revoke all on function reaper.copies_detail(text) from public;
grant execute on function reaper.copies_detail(text) to reaper_worker, reaper_ops, reaper_ro;
