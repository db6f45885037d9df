-- Validates the constraints of the last step: from here on the planner and reaper may rely on them.
-- locks: pastes SHARE UPDATE EXCLUSIVE and content ROW SHARE for one scan of pastes; readers and writers are not blocked
-- depends: 0004.adopted-columns
set local lock_timeout = '5s';
do $$
declare
    v_name text;
begin
    for v_name in
        select c.conname
          from pg_catalog.pg_constraint c
         where c.conrelid = 'public.pastes'::regclass
           and not c.convalidated
           and (c.confrelid = 'public.content'::regclass or c.conname = 'pastes_deletion_status_check')
    loop
        execute format('alter table public.pastes validate constraint %I', v_name);
    end loop;
exception when foreign_key_violation then
    raise exception using
        errcode = 'foreign_key_violation',
        message = format('%s paste rows name content that does not exist',
                         (select count(*) from public.pastes p
                           where not exists (select from public.content c where c.content_hash = p.content_hash))),
        hint    = 'Delete these pastes or restore their content rows, then run reaper migrate again; it resumes with this step.';
end;
$$;
