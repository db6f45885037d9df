-- is_subscribed: whether a webhook is to be told of such an event; one look into an index. What makes an event's data asks here first.
create or replace function reaper_internal.is_subscribed(p_type text)
    returns boolean
    language plpgsql stable
as $$
begin
    return exists (select from reaper.webhook_subscriptions s where s.pattern = any (reaper_internal.matching_patterns(p_type)));
end;
$$;
comment on function reaper_internal.is_subscribed(text) is
    'Whether an enabled webhook has subscribed to the event.';
revoke all on function reaper_internal.is_subscribed(text) from public;
