-- check_rows: what must be true of pastes, contents and batches.
create or replace function reaper_internal.check_rows()
    returns table (invariant text, subject text, detail text)
    language sql stable
as $$
    with named as materialized (
        select p.content_hash, count(*) as refs from reaper.pastes p group by p.content_hash
    ), claimed as materialized (
        select c.short_code
          from reaper.batches b
         cross join unnest(b.short_codes) as c (short_code)
         where b.state = 'CLAIMED'
    )
    select 'ref_count equals the paste rows', coalesce(c.content_hash, n.content_hash),
           format('ref_count is %s, number of paste rows is %s', coalesce(c.ref_count::text, 'missing'), coalesce(n.refs, 0))
      from reaper.content c
      full join named n on n.content_hash = c.content_hash
     where c.ref_count is distinct from coalesce(n.refs, 0)
       and c.content_hash is not null
    union all
    select 'every paste has its content', n.content_hash, format('%s paste rows name content that does not exist', n.refs)
      from named n
     where not exists (select from reaper.content c where c.content_hash = n.content_hash)
    union all
    select 'every marked row is in a batch', p.short_code, format('marked since %s', p.deletion_initiated_at)
      from reaper.pastes p
     where p.deletion_status = 'DELETION_IN_PROGRESS'
       and not exists (select from claimed c where c.short_code = p.short_code)
    union all
    select 'every claimed batch has rows', b.batch_id::text, format('held by %s', coalesce(b.worker, 'no worker'))
      from reaper.batches b
     where b.state = 'CLAIMED' and b.short_codes = '{}';
$$;
comment on function reaper_internal.check_rows() is
    'For check_invariants: violations concerning pastes, contents and batches.';
revoke all on function reaper_internal.check_rows() from public;
