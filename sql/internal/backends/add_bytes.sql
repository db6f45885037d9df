-- add_bytes: change a backend's byte account by inserting a row, so that no writer waits for the account of a busy backend.
create or replace function reaper_internal.add_bytes(
    p_backend   text,
    p_used      numeric default 0,
    p_orphan    numeric default 0,
    p_reserved  numeric default 0
)
    returns void
    language sql volatile
as $$
    insert into reaper.byte_deltas (backend, used_bytes, orphan_bytes, reserved_bytes)
    select p_backend, p_used, p_orphan, p_reserved
     where (p_used, p_orphan, p_reserved) <> (0, 0, 0);
$$;
comment on function reaper_internal.add_bytes(text, numeric, numeric, numeric) is
    'Adds to the bytes used, queued for deletion and reserved on a backend; negative numbers subtract.';
revoke all on function reaper_internal.add_bytes(text, numeric, numeric, numeric) from public;
