-- emit_stuck: tell, at the end of a sweep, which contents have too few good copies and cannot get another: no backend has room, or no good copy is
-- left. One event for each of the two reasons; what fails otherwise, or waits for a circuit, comes right by itself. Reads at most 100,000 wants.
create or replace function reaper_internal.emit_stuck()
    returns void
    language plpgsql volatile
    set enable_hashjoin = on
as $$
begin
    if not exists (select from reaper.copy_wants) or not reaper_internal.is_subscribed('replication.stuck') then
        return;
    end if;
    perform reaper_internal.emit('replication.stuck', t.subject, jsonb_build_object(
                'contents', t.contents, 'bytes', least(t.bytes, 9007199254740991), 'wanted', t.wanted, 'reason', t.reason,
                'content_hashes', to_jsonb(t.hashes[:100])))
       from (select k.subject, k.reason, count(*) as contents, coalesce(sum(c.size_bytes), 0) as bytes, max(s.replication_factor) as wanted,
                    array_agg(w.content_hash order by w.queued_at, w.content_hash) as hashes
               from (select * from reaper.copy_wants limit 100000) as w
              cross join reaper.settings s
              cross join lateral (values ('no good copy', 'no good copy is left', w.good = 0),
                                         ('no room', reaper_internal.no_place_error(), w.good > 0 and w.last_error = reaper_internal.no_place_error()))
                    as k (subject, reason, is_stuck)
              cross join lateral (select w.content_hash collate "default") as own (hash)
               join reaper.content c on c.content_hash = own.hash
              where k.is_stuck
              group by k.subject, k.reason) as t
      order by t.subject;
end;
$$;
comment on function reaper_internal.emit_stuck() is
    'For sweep_copies: emits replication.stuck for contents that no backend has room for, and for those without a good copy.';
revoke all on function reaper_internal.emit_stuck() from public;
