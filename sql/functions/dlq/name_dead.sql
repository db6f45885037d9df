-- name_dead: which dead letters were meant, in words for the audit.
create or replace function reaper.name_dead(p_backend text, p_cause text, p_ids bigint[])
    returns text
    language sql immutable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
    select left(coalesce(nullif(concat_ws(', ', 'backend ' || p_backend, 'cause ' || p_cause, 'ids ' || array_to_string(p_ids, ' ')), ''), 'all'), 1000);
$$;
comment on function reaper.name_dead(text, text, bigint[]) is
    'Internal: the filters of retry_dead as a line of the audit shows them.';
revoke all on function reaper.name_dead(text, text, bigint[]) from public;
