-- require_webhook_url: refuse what is no plain http or https address: odd schemes, user names and passwords (they would be in every dump),
-- spaces and control characters, backslashes, fragments. Whether the address may be connected to is decided where it is: by the sender.
create or replace function reaper_internal.require_webhook_url(p_url text)
    returns void
    language plpgsql immutable
as $$
declare
    v_problem text := case
        when p_url is null or p_url = '' then 'it is empty'
        when length(p_url) > 2000 then 'it is longer than 2000 characters'
        when p_url ~ '[^!-~]' then 'it contains spaces, control characters or letters outside of ASCII'
        when p_url !~ '^https?://' then 'it does not begin with https:// or http://'
        when p_url ~ '^https?://[^/?#]*@' then 'it contains a user name or password'
        when p_url ~ '[#\\]' then 'it contains # or a backslash'
        when p_url !~ '^https?://([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?([/?]|$)' then 'it names no host, or a port that is no number'
        when substring(p_url from '^https?://(?:[^:/?[]+|\[[^]]+\]):([0-9]+)')::integer not between 1 and 65535 then 'its port is not one of 1 to 65535'
    end;
begin
    if v_problem is not null then
        raise exception sqlstate 'RP005' using
            message = format('invalid URL of a webhook: %s', v_problem),
            hint    = 'Write an address such as https://example.com/hooks/reaper; host names with other letters in punycode, a secret into a variable (p_secret_env).';
    end if;
end;
$$;
comment on function reaper_internal.require_webhook_url(text) is
    'Raises RP005, without quoting the URL, if it is no plain http or https address.';
revoke all on function reaper_internal.require_webhook_url(text) from public;
