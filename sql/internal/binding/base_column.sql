-- base_column: the name of the application's column behind a column of reaper.pastes or reaper.content.
create or replace function reaper_internal.base_column(p_name text, p_column text)
    returns name
    language plpgsql stable
as $$
begin
    return (
        select (b.columns ->> p_column)::name from reaper.bindings b where b.name = p_name);
end;
$$;
comment on function reaper_internal.base_column(text, text) is
    'Name of the bound table''s column; null if an expression takes its place.';
revoke all on function reaper_internal.base_column(text, text) from public;
