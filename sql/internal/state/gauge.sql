-- gauge: one state gauge as the snapshot keeps it.
create or replace function reaper_internal.gauge(p_gauge text, p_value numeric, p_labels jsonb default '{}')
    returns jsonb
    language sql immutable
as $$
    select jsonb_build_object('gauge', p_gauge, 'labels', p_labels, 'value', p_value);
$$;
comment on function reaper_internal.gauge(text, numeric, jsonb) is
    'For refresh_state: one gauge with its labels.';
revoke all on function reaper_internal.gauge(text, numeric, jsonb) from public;
