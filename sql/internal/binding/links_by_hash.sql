-- links_by_hash: is a foreign key the one from the pastes' content_hash to the content's? Another one between the two tables protects nothing.
-- A column that was renamed, so that the binding has its former name, counts as the bound one.
create or replace function reaper_internal.links_by_hash(p_pastes oid, p_from int2[], p_content oid, p_to int2[])
    returns boolean
    language plpgsql stable
as $$
begin
    return (
        select cardinality(p_from) = 1
           and not exists (select from pg_catalog.pg_attribute a
                            where a.attrelid = p_pastes and a.attname = reaper_internal.base_column('pastes', 'content_hash') and a.attnum <> p_from[1])
           and not exists (select from pg_catalog.pg_attribute a
                            where a.attrelid = p_content and a.attname = reaper_internal.base_column('content', 'content_hash') and a.attnum <> p_to[1]));
end;
$$;
comment on function reaper_internal.links_by_hash(oid, int2[], oid, int2[]) is
    'For binding_problems: whether these columns of a foreign key are the bound content_hash of pastes and of content.';
revoke all on function reaper_internal.links_by_hash(oid, int2[], oid, int2[]) from public;
