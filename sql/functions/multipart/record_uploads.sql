-- record_uploads: record what the last look at a backend's uploads in parts found, for the view integrity and the metrics.
create or replace function reaper.record_uploads(p_backend text, p_open bigint, p_oldest timestamptz, p_parts bigint, p_bytes bigint)
    returns void
    language sql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
    insert into reaper.reconciliations as r (backend, uploads, oldest_upload, upload_parts, upload_bytes, uploads_at)
    values (p_backend, p_open, p_oldest, p_parts, p_bytes, reaper.clock())
        on conflict (backend) do update
       set uploads       = excluded.uploads,
           oldest_upload = excluded.oldest_upload,
           upload_parts  = coalesce(r.upload_parts, 0) + excluded.upload_parts,
           upload_bytes  = coalesce(r.upload_bytes, 0) + excluded.upload_bytes,
           uploads_at    = excluded.uploads_at;
$$;
comment on function reaper.record_uploads(text, bigint, timestamptz, bigint, bigint) is
    'Records how many uploads in parts are open on a backend, since when, and how many parts and bytes were deleted with abandoned ones.';
revoke all on function reaper.record_uploads(text, bigint, timestamptz, bigint, bigint) from public;
grant execute on function reaper.record_uploads(text, bigint, timestamptz, bigint, bigint) to reaper_worker, reaper_ops;
