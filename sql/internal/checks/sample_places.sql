-- sample_places: addresses of rows of reaper.content or reaper.pastes, from p_pages pages by chance, or from all pages of a smaller table.
-- The number of pages is that of the file: statistics may be old or missing.
create or replace function reaper_internal.sample_places(p_name text, p_pages integer, p_rows_per_page integer)
    returns tid[]
    language plpgsql stable
as $$
declare
    v_pages   bigint  := pg_relation_size(reaper_internal.base_table(p_name)) / current_setting('block_size')::bigint;
    v_rows    integer := ceil(p_rows_per_page * greatest(p_pages::numeric / greatest(v_pages, 1), 1));
    v_places  tid[]   := '{}';
    v_found   tid[];
    v_page    bigint;
begin
    for v_page in
        select n from generate_series(0, v_pages - 1) as n where v_pages <= p_pages
        union
        select floor(random() * v_pages)::bigint from generate_series(1, p_pages) where v_pages > p_pages
    loop
        execute format('select array(select t.place from reaper.%I t where t.place >= %L::tid and t.place < %L::tid order by random() limit %s)',
                       p_name, format('(%s,0)', v_page), format('(%s,0)', v_page + 1), v_rows)
           into v_found;
        v_places := v_places || v_found;
    end loop;
    return v_places;
end;
$$;
comment on function reaper_internal.sample_places(text, integer, integer) is
    'For sample_keys and estimate_drain: addresses (ctid) of rows from pages of content or pastes, chosen by chance.';
revoke all on function reaper_internal.sample_places(text, integer, integer) from public;
