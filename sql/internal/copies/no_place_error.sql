-- no_place_error: what is recorded about a content that fits nowhere; by it emit_stuck() knows such contents.
create or replace function reaper_internal.no_place_error()
    returns text
    language sql immutable
as $$
    select 'no active backend without a copy has room, a closed circuit and monthly limits that are not used up';
$$;
comment on function reaper_internal.no_place_error() is
    'For begin_copies and emit_stuck: the last_error of a want that no backend can take.';
revoke all on function reaper_internal.no_place_error() from public;
