-- create_bound_views: make both views and the guard of object keys, in the order in which transactions lock: content before pastes.
create or replace function reaper_internal.create_bound_views()
    returns void
    language plpgsql volatile
as $$
begin
    lock table reaper.bindings in access exclusive mode;
    perform reaper_internal.create_bound_view('content');
    perform reaper_internal.create_bound_view('pastes');
    perform reaper_internal.create_key_guard();
end;
$$;
comment on function reaper_internal.create_bound_views() is
    'For bind and reaper migrate: creates the views reaper.pastes and reaper.content, and the trigger reaper_retired_key if it is missing.';
revoke all on function reaper_internal.create_bound_views() from public;
