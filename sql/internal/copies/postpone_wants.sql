-- postpone_wants: of locked wants, delete those whose content is gone or needs nothing any more, and postpone those that cannot be copied
-- now because a copy is being made or none can be read; what is left is returned.
create or replace function reaper_internal.postpone_wants(p_hashes text[], p_now timestamptz)
    returns text[]
    language plpgsql volatile
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
declare
    v_living  text[] := array(select c.content_hash from reaper.content c where c.content_hash = any (p_hashes));
    v_wanted  text[];
    v_ready   text[];
begin
    select coalesce(array_agg(n.content_hash), '{}'), coalesce(array_agg(n.content_hash) filter (where n.good > 0), '{}')
      into v_wanted, v_ready
      from reaper_internal.copy_needs(v_living, p_now) as n
     where n.is_wanted;
    delete from reaper.copy_wants w where w.content_hash = any (p_hashes) and w.content_hash <> all (v_wanted);
    v_ready := array(select unnest(v_ready)
                     except
                     select i.content_hash from reaper.copy_intents i where i.content_hash = any (v_ready));
    update reaper.copy_wants w
       set good         = n.good,
           next_attempt = p_now + case when n.good = 0 then interval '1 hour' else interval '1 minute' end,
           last_error   = case when n.good = 0 then 'no good copy is left' else w.last_error end
      from (select x.content_hash, least(x.good, 16) as good
              from reaper_internal.copy_needs(array(select unnest(v_wanted) except select unnest(v_ready)), p_now) as x) as n
     where w.content_hash = n.content_hash;
    return v_ready;
end;
$$;
comment on function reaper_internal.postpone_wants(text[], timestamptz) is
    'For claim_copies: deletes locked wants that are satisfied, postpones those that must wait, and returns the hashes of the others.';
revoke all on function reaper_internal.postpone_wants(text[], timestamptz) from public;
