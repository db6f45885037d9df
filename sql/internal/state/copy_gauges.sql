-- copy_gauges: copies that are bad, contents that want copies, and multipart uploads that are open. Where a table or column of theirs does not
-- exist, the gauge is 0. Bad copies are counted through their partial index, the others up to 100,000.
create or replace function reaper_internal.copy_gauges()
    returns setof jsonb
    language plpgsql stable
as $$
declare
    v_wants    bigint := 0;
    v_uploads  bigint := 0;
    v_missing  bigint := 0;
    v_corrupt  bigint := 0;
begin
    if to_regclass('reaper.copy_wants') is not null then
        execute 'select count(*) from (select from reaper.copy_wants limit 100000) as l' into v_wants;
    end if;
    if to_regclass('reaper.multipart_uploads') is not null then
        execute 'select count(*) from (select from reaper.multipart_uploads limit 100000) as l' into v_uploads;
    end if;
    if exists (select from pg_catalog.pg_attribute a
                where a.attrelid = 'reaper.object_locations'::regclass and a.attname = 'trouble' and not a.attisdropped)
    then
        execute 'select count(*) filter (where l.trouble = ''missing''), count(*) filter (where l.trouble = ''corrupt'')'
                '  from (select o.trouble from reaper.object_locations o where o.trouble is not null limit 100000) as l'
           into v_missing, v_corrupt;
    end if;
    return query
        select reaper_internal.gauge('copy_wants', v_wants)
        union all
        select reaper_internal.gauge('multipart_uploads', v_uploads)
        union all
        select reaper_internal.gauge('copies', v_missing, '{"trouble": "missing"}')
        union all
        select reaper_internal.gauge('copies', v_corrupt, '{"trouble": "corrupt"}');
end;
$$;
comment on function reaper_internal.copy_gauges() is
    'For refresh_state: bad copies by trouble, contents that want copies, open multipart uploads.';
revoke all on function reaper_internal.copy_gauges() from public;
