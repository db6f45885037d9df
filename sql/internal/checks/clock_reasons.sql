-- clock_reasons: a clock that can be moved: rows may look expired that are not.
create or replace function reaper_internal.clock_reasons(p_now timestamptz)
    returns setof text
    language sql stable
as $$
    select format('reaper.clock() can be moved%s: that is for tests, a moved clock deletes what has not expired. '
                  'Run as the owner: update reaper.settings set clock_may_move = false, clock_offset = ''0''',
                  case when s.clock_offset <> interval '0' then ', and is ' || s.clock_offset || ' off' else '' end)
      from reaper.settings s
     where s.clock_may_move;
$$;
comment on function reaper_internal.clock_reasons(timestamptz) is
    'For attention_reasons: the clock of the tests is in use.';
revoke all on function reaper_internal.clock_reasons(timestamptz) from public;
