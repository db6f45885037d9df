-- claim_cleanup: lease owed objects that are due for another try. A leased row comes due again after five minutes: whoever
-- died with it needs no watchdog, and the token keeps a late one from settling what is no longer its own.
-- Fair: each backend with due rows gets its share before any gets more, and one whose circuit is not closed gets none, so that
-- the millions of a sick backend keep nobody else waiting.
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
    -- Never later than now: what is due in the future may be in somebody's hands.
    v_due      timestamptz := least(coalesce(p_due_before, v_now), v_now);
    v_lease    uuid        := gen_random_uuid();
    v_busy     text[];
    v_left     integer     := p_limit;
    v_share    integer;
    v_backend  text;
    v_leased   integer;
begin
    perform reaper_internal.require_limit(p_limit);
    -- Deletions follow this commit. What queued the objects may not be on disk yet, and a crash would bring back an intent
    -- whose bytes are gone; a durable commit takes all earlier ones with it.
    perform reaper_internal.commit_durably();
    v_busy := reaper_internal.backends_due_for_cleanup(p_backend, v_due);
    -- First to each its share, then to whoever has more.
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
    'Leases up to p_limit objects whose deletion failed before and is due for another try, a fair share of each backend that answers, or of one that is named; all share one lease. '
    'p_due_before: only what was due by then, so that a pass does not meet its own failures. Delete, then call finish_cleanup.';
revoke all on function reaper.claim_cleanup(integer, text, timestamptz) from public;
grant execute on function reaper.claim_cleanup(integer, text, timestamptz) to reaper_worker, reaper_ops;
