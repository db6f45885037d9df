-- Drops the columns and constraints that reaper added, where nothing would be lost.
-- locks: pastes and content ACCESS EXCLUSIVE, for one scan of both and catalogue changes
do $$
declare
    v_column  text;
    v_count   bigint;
    v_loss    text;
begin
    -- What a column holds beyond its default is information: say how much of it would go.
    for v_column, v_loss in
        select c.col, c.loss
          from (values ('content.object_key',           'object_key is not null'),
                       ('content.size_bytes',           'size_bytes is not null'),
                       ('pastes.deletion_status',       'deletion_status <> ''NOT_EXPIRED'''),
                       ('pastes.deletion_initiated_at', 'deletion_initiated_at is not null')) as c (col, loss)
         where exists (select from reaper.provenance where object = 'column ' || c.col)
    loop
        execute format('select count(*) from public.%I where %s', split_part(v_column, '.', 1), v_loss) into v_count;
        if v_count > 0 then
            raise exception sqlstate 'RP007' using
                message = format('dropping %s would lose what %s rows hold in it', v_column, v_count),
                hint    = 'Drain first, and keep a copy of the column; or stay on this release.';
        end if;
    end loop;
    for v_column in
        select object from reaper.provenance where object like 'constraint %'
    loop
        execute format('alter table public.%I drop constraint if exists %I',
                       split_part(split_part(v_column, ' ', 2), '.', 1), split_part(v_column, '.', 2));
    end loop;
    for v_column in
        select object from reaper.provenance where object like 'column %'
    loop
        execute format('alter table public.%I drop column if exists %I',
                       split_part(split_part(v_column, ' ', 2), '.', 1), split_part(v_column, '.', 2));
    end loop;
    delete from reaper.provenance where object like 'constraint %' or object like 'column %';
end;
$$;
