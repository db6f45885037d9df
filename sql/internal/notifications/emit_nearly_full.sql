-- emit_nearly_full: tell that a quota or monthly limit is nearly used up, in the transaction that records the crossing.
create or replace function reaper_internal.emit_nearly_full(p_backend text, p_what text, p_used numeric, p_amount bigint)
    returns void
    language sql volatile
as $$
    select reaper_internal.emit('backend.nearly_full', p_backend, jsonb_build_object(
        'backend', p_backend, 'limit', case p_what when 'bytes' then 'quota' else p_what end,
        'used', least(greatest(p_used, 0), 9007199254740991), 'allowed', least(p_amount, 9007199254740991),
        'share', case when p_amount > 0 then round(greatest(p_used, 0) / p_amount, 4) else 1 end));
$$;
comment on function reaper_internal.emit_nearly_full(text, text, numeric, bigint) is
    'For announce_nearly_full: emits backend.nearly_full; p_what is bytes for the quota, or the name of a monthly limit.';
revoke all on function reaper_internal.emit_nearly_full(text, text, numeric, bigint) from public;
