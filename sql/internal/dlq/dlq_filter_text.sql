-- dlq_filter_text: the filters of a call about DLQ entries, as text for the audit.
create or replace function reaper_internal.dlq_filter_text(p_backend text, p_cause text, p_ids bigint[])
    returns text
    language sql immutable
as $$
    select left(coalesce(nullif(concat_ws(', ', 'backend ' || p_backend, 'cause ' || p_cause, 'ids ' || array_to_string(p_ids, ' ')), ''), 'all'), 1000);
$$;
comment on function reaper_internal.dlq_filter_text(text, text, bigint[]) is
    'The filters of retry_dlq as text for reaper.audit.';
revoke all on function reaper_internal.dlq_filter_text(text, text, bigint[]) from public;
