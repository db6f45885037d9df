-- require_usage_rows: refuse reports that are none before anything is written; the message names the first bad row.
-- The bound on the numbers keeps sums of them far from what a bigint holds.
create or replace function reaper_internal.require_usage_rows(p_rows jsonb)
    returns void
    language plpgsql stable
as $$
declare
    v_bad jsonb;
begin
    if jsonb_typeof(p_rows) is distinct from 'array' or jsonb_array_length(p_rows) > 10000 then
        raise exception sqlstate 'RP005' using
            message = 'p_rows must be a JSON array of at most 10000 rows',
            hint    = 'Give [{"process", "month", "backend", "requests_read", "requests_write", "requests_list", "requests_delete", "ingress", "egress"}].';
    end if;
    select r.row
      into v_bad
      from jsonb_array_elements(p_rows) as r (row)
     where jsonb_typeof(r.row) <> 'object'
        or coalesce(r.row ->> 'process', '') !~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
        or coalesce(r.row ->> 'month', '') !~ '^[0-9]{4}-(0[1-9]|1[0-2])-01$'
        or coalesce(r.row ->> 'backend', '') !~ '^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$'
        or exists (select from unnest('{requests_read,requests_write,requests_list,requests_delete,ingress,egress}'::text[]) as f (field)
                    where coalesce(r.row ->> f.field, '0') !~ '^[0-9]{1,17}$')
     limit 1;
    if found then
        raise exception sqlstate 'RP005' using
            message = format('invalid row of usage: %s', left(v_bad::text, 200)),
            hint    = 'process is a uuid, month the first day of a month such as 2026-01-01, backend a name, and the figures are whole numbers of up to 17 digits.';
    end if;
end;
$$;
comment on function reaper_internal.require_usage_rows(jsonb) is
    'For flush_usage: raises RP005 unless p_rows is an array of valid rows.';
revoke all on function reaper_internal.require_usage_rows(jsonb) from public;
