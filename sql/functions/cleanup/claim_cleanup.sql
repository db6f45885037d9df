-- claim_cleanup: lease objects from the cleanup queue that are due. A leased row is due again after five minutes, so the lease of a dead
-- worker needs no watchdog; the token keeps a late worker from settling rows that were leased again.
-- Fair: each backend with due rows gets its share before any gets more, and a backend whose circuit is not closed gets none, so that the
-- long queue of a failing backend does not delay the others.
create or replace function reaper.claim_cleanup(
    p_limit       integer     default 1000,
    p_backend     text        default null,
    p_due_before  timestamptz default null
)
    returns table (lease uuid, content_hash text, backend text, object_key text, size_bytes bigint)
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
#variable_conflict use_column
declare
    v_now      timestamptz := reaper.clock();
    -- Never later than now: a row that is due in the future may be leased.
    v_due      timestamptz := least(coalesce(p_due_before, v_now), v_now);
    v_lease    uuid        := gen_random_uuid();
    v_busy     text[];
    v_left     integer     := p_limit;
    v_share    integer;
    v_backend  text;
    v_leased   integer;
begin
    perform reaper_internal.require_limit(p_limit);
    perform reaper_internal.require_key_guard();
    perform reaper_internal.require_confirmed_keys();
    -- Deletions follow this commit. What queued the objects may not be on disk yet, and a crash would bring back an intent
    -- whose bytes are gone; a durable commit takes all earlier ones with it.
    perform reaper_internal.commit_durably();
    v_busy := reaper_internal.backends_due_for_cleanup(p_backend, v_due);
    -- First a fair share for each backend, then the rest of the limit in the same order.
    foreach v_share in array array[ceil(p_limit::numeric / greatest(cardinality(v_busy), 1)), p_limit] loop
        foreach v_backend in array v_busy loop
            continue when v_left = 0;
            return query
                select q.lease, q.content_hash, q.backend, q.object_key, q.size_bytes
                  from reaper_internal.lease_cleanup(v_backend, least(v_share, v_left), v_due, v_lease, v_now + interval '5 minutes') as q;
            get diagnostics v_leased = row_count;
            v_left := v_left - v_leased;
        end loop;
    end loop;
end;
$$;
comment on function reaper.claim_cleanup(integer, text, timestamptz) is
    'Leases up to p_limit objects that are queued for deletion and due, a fair share of each backend whose circuit is closed, or of the one named; all share one lease. '
    'p_due_before: only objects due by then, so that a pass does not retry its own failures. Delete them, then call finish_cleanup. RP010 while objects do not lie under the bound object keys.';
revoke all on function reaper.claim_cleanup(integer, text, timestamptz) from public;
grant execute on function reaper.claim_cleanup(integer, text, timestamptz) to reaper_worker, reaper_ops;
