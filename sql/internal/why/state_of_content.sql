-- state_of_content: why a content's bytes are still stored, or that they are deleted. Null if nothing is known of the hash.
create or replace function reaper_internal.state_of_content(p_content_hash text)
    returns text
    language sql stable
as $$
    select coalesce(
        (select case when n.live > 0
                     then format('kept: readable pastes name it, %s in all (%s)', n.live, array_to_string(n.examples, ', '))
                     when n.due > 0 then format('kept until the expired pastes that name it are deleted, %s in all: %s', n.due, reaper_internal.next_drain())
                     else 'kept although no paste names it: see reaper.unreferenced_content()' end
                || case when c.ref_count is distinct from n.live + n.due
                        then format('; its ref_count of %s is wrong: reaper verify --repair', coalesce(c.ref_count::text, 'null')) else '' end
                || coalesce('; ' || reaper_internal.copies_in_words(p_content_hash), '')
           from reaper.content c
          cross join lateral (
             select l.pastes as live, l.examples,
                    (select count(*) from reaper.pastes p where p.content_hash = c.content_hash and p.expires_at <= reaper.clock()) as due
               from reaper.live_pastes(array[c.content_hash::text], 3) as l) as n
          where c.content_hash = p_content_hash),
        (select format('in the DLQ: %s on %s stays until an operator decides (reaper dlq)', d.object_key, d.backend)
           from reaper.cleanup_dlq d where d.content_hash = p_content_hash limit 1),
        (select format('row deleted; the deletion of %s on %s is tried again%s', q.object_key, q.backend,
                       coalesce(': circuit of the backend not closed, next probe at ' || c.retry_at::text, format(' at %s', q.next_attempt)))
           from reaper.cleanup_queue q
           left join reaper.circuits c on c.backend = q.backend and c.state <> 'closed'
          where q.content_hash = p_content_hash
          order by q.queued_at
          limit 1),
        (select format('row deleted; %s deletes its objects', coalesce(b.worker, 'the next worker'))
           from reaper.batches b where b.object_hashes @> array[p_content_hash] limit 1),
        (select format('deleted at %s', max(r.finished_at)) from reaper.runs r where r.content_hashes @> array[p_content_hash] having count(*) > 0),
        (select format('not stored yet: a put of paste %s is in progress', i.short_code)
           from reaper.put_intents i where i.content_hash = p_content_hash order by i.begun_at desc limit 1));
$$;
comment on function reaper_internal.state_of_content(text) is
    'For why: the present state of a content, in one sentence.';
revoke all on function reaper_internal.state_of_content(text) from public;
