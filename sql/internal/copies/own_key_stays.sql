-- own_key_stays: may the object under a content's own key on backend default be removed while the content lives? Not where readers may find it
-- by that key alone: in an adopted table until settings.readers_use_doors, and where the key is an expression, which no move can change.
create or replace function reaper_internal.own_key_stays()
    returns boolean
    language sql stable
as $$
    select coalesce((select b.key_expression is not null
                            or (not s.readers_use_doors
                                and not exists (select from reaper.provenance p where p.kind = 'table' and p.table_name = b.bound_table))
                       from reaper.bindings b
                      cross join reaper.settings s
                      where b.name = 'content'), true);
$$;
comment on function reaper_internal.own_key_stays() is
    'Whether the object under a content''s own key on backend default must stay as long as the content lives, because readers may look there without asking reaper.';
revoke all on function reaper_internal.own_key_stays() from public;
