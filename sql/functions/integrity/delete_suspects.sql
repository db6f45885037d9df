-- delete_suspects: copies that were found after all are no suspects any more. Rows of other keys stay as they are.
create or replace function reaper.delete_suspects(p_backend text, p_keys text[])
    returns integer
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
declare
    v_number integer;
begin
    delete from reaper.suspects s where s.backend = p_backend and s.object_key = any (p_keys);
    get diagnostics v_number = row_count;
    return v_number;
end;
$$;
comment on function reaper.delete_suspects(text, text[]) is
    'Removes copies that were found from the suspects; returns how many.';
revoke all on function reaper.delete_suspects(text, text[]) from public;
grant execute on function reaper.delete_suspects(text, text[]) to reaper_worker, reaper_ops;
