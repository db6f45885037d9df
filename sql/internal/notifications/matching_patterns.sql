-- matching_patterns: the patterns under which a webhook may have subscribed to an event: its name, prefix.* and *.
create or replace function reaper_internal.matching_patterns(p_type text)
    returns text[]
    language sql immutable
as $$
    select array[p_type, split_part(p_type, '.', 1) || '.*', '*'];
$$;
comment on function reaper_internal.matching_patterns(text) is
    'The patterns that match an event: its name, the first part of it with .*, and *.';
revoke all on function reaper_internal.matching_patterns(text) from public;
