-- disown_rows: rows that stay marked because another transaction holds them go into an ownerless batch: the next claim from the start takes
-- them, or the watchdog returns them.
create or replace function reaper_internal.disown_rows(p_codes text[], p_statuses jsonb, p_now timestamptz)
    returns void
    language plpgsql volatile
as $$
begin
    insert into reaper.batches (batch_id, short_codes, other_statuses, rows_claimed, claimed_at, held_since)
    select gen_random_uuid(), p_codes, reaper_internal.statuses_of(p_statuses, p_codes), cardinality(p_codes), p_now, p_now
     where p_codes <> '{}';
end;
$$;
comment on function reaper_internal.disown_rows(text[], jsonb, timestamptz) is
    'For drops and reaps: puts codes whose rows stay marked into an ownerless claimed batch; none if there are no codes.';
revoke all on function reaper_internal.disown_rows(text[], jsonb, timestamptz) from public;
