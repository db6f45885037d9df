-- backends_due_for_cleanup: backends with queued objects that are due, the longest overdue first. Backends whose circuit is open or being
-- probed are left out: an attempt would only cost time. One that is not in backend_list is returned only if it is named.
create or replace function reaper_internal.backends_due_for_cleanup(p_backend text, p_due timestamptz)
    returns text[]
    language plpgsql stable
as $$
declare
    -- A variable, because the list's own collation is not the one of the queue's index.
    v_names text[] := array(select b.name from reaper.backend_list b where p_backend is null union all select p_backend where p_backend is not null);
begin
    return array(
        select n.name
          from unnest(v_names) as n (name)
         cross join lateral (select q.next_attempt
                               from reaper.cleanup_queue q
                              where q.backend = n.name and q.next_attempt <= p_due
                              order by q.next_attempt
                              limit 1) as first
         where not exists (select from reaper.circuits c where c.backend = n.name and c.state <> 'closed')
         order by first.next_attempt);
end;
$$;
comment on function reaper_internal.backends_due_for_cleanup(text, timestamptz) is
    'For claim_cleanup: the backends, or the one named, whose circuit is closed and which have objects due by then.';
revoke all on function reaper_internal.backends_due_for_cleanup(text, timestamptz) from public;
