-- record_verdict: tell if the verdict is not what was told last. A caller that has just read reaper.health passes what it saw; else it is read here,
-- and only if a webhook wants to know. Of two callers that see the same change one tells it.
create or replace function reaper.record_verdict(p_verdict text default null, p_reasons text[] default null)
    returns boolean
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
declare
    v_verdict  text   := p_verdict;
    v_reasons  text[] := p_reasons;
    v_before   text;
begin
    if not reaper_internal.is_subscribed('verdict.changed') then
        return false;
    end if;
    if v_verdict is null then
        select h.verdict, h.reasons into v_verdict, v_reasons from reaper.health h;
    end if;
    v_before := reaper_internal.record_change('verdict.changed', 'verdict', v_verdict, 'ok');
    if v_before is not null then
        perform reaper_internal.emit('verdict.changed', v_verdict,
            jsonb_build_object('from', v_before, 'to', v_verdict, 'reasons', to_jsonb(coalesce(v_reasons, '{}'))));
    end if;
    return v_before is not null;
end;
$$;
comment on function reaper.record_verdict(text, text[]) is
    'Emits verdict.changed if the verdict of reaper.health differs from the one that was told last; returns whether it did. Pass the verdict and its reasons if they have just been read.';
revoke all on function reaper.record_verdict(text, text[]) from public;
grant execute on function reaper.record_verdict(text, text[]) to reaper_worker, reaper_ops;
