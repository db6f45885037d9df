-- require_secret_env: refuse what is no name of an environment variable, and the names under which processes keep their own keys: a signature
-- with one of these would let the endpoint guess at it.
create or replace function reaper_internal.require_secret_env(p_secret_env text)
    returns void
    language plpgsql immutable
as $$
begin
    if p_secret_env !~ '^[A-Za-z_][A-Za-z0-9_]{0,127}$' or p_secret_env ~* '^(AWS|REAPER)_' then
        raise exception sqlstate 'RP005' using
            message = case when p_secret_env ~* '^(AWS|REAPER)_' then format('%s may not be used as the secret of a webhook', p_secret_env)
                           else 'p_secret_env is no name of an environment variable' end,
            hint    = 'Name a variable of its own, such as WEBHOOK_SECRET_OPS, that holds whsec_… in every process that delivers; AWS_* and REAPER_* are refused.';
    end if;
end;
$$;
comment on function reaper_internal.require_secret_env(text) is
    'Raises RP005, without quoting what may be a secret, for a name that cannot hold the secret of a webhook.';
revoke all on function reaper_internal.require_secret_env(text) from public;
