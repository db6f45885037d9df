-- block_rows: return rows that cannot be deleted, and keep claims from taking them for a while.
create or replace function reaper_internal.block_rows(
    p_codes     text[],
    p_now       timestamptz,
    p_sqlstate  text,
    p_message   text,
    p_statuses  jsonb
)
    returns integer
    language plpgsql volatile
as $$
declare
    v_retry interval := (select s.blocked_retry from reaper.settings s);
begin
    perform reaper_internal.return_rows(p_codes, p_statuses);
    insert into reaper.blocked as b (short_code, sqlstate, message, blocked_at, next_attempt)
    select c.short_code, p_sqlstate, left(p_message, 1000), p_now, p_now + v_retry
      from unnest(p_codes) as c (short_code)
        on conflict (short_code) do update
       set sqlstate     = excluded.sqlstate,
           message      = excluded.message,
           attempts     = b.attempts + 1,
           next_attempt = p_now + least(v_retry * 2 ^ least(b.attempts, 20), interval '1 day');
    return cardinality(p_codes);
end;
$$;
comment on function reaper_internal.block_rows(text[], timestamptz, text, text, jsonb) is
    'Returns rows to the status that they had and records them in reaper.blocked with the error and a growing pause.';
revoke all on function reaper_internal.block_rows(text[], timestamptz, text, text, jsonb) from public;
