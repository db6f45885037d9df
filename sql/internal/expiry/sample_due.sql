-- sample_due: what deleting one due row frees on average, from up to 1,000 due rows of random pages; where these pages have few due rows,
-- from the oldest due rows. Of a content with more than 100 pastes their number is taken from ref_count.
create or replace function reaper_internal.sample_due(
    in  p_now    timestamptz,
    out objects  float8,
    out bytes    float8,
    out unsized  float8,
    out kept     float8
)
    language plpgsql stable
as $$
#variable_conflict use_column
declare
    c_pages    constant integer := 200;
    c_rows     constant integer := 1000;
    c_few      constant integer := 100;
    c_many     constant integer := 100;
    v_blocked  text[] := array(select b.short_code from reaper.blocked b where b.next_attempt > p_now);
    v_places   tid[]  := reaper_internal.sample_places('pastes', c_pages, c_rows);
    v_hashes   text[];
begin
    v_hashes := array(select p.content_hash
                        from reaper.pastes p
                       where p.place = any (v_places) and p.expires_at <= p_now and p.deletion_status is distinct from 'DELETION_IN_PROGRESS'
                       order by random()
                       limit c_rows);
    if cardinality(v_hashes) < c_few then
        v_hashes := array(select p.content_hash
                            from reaper.pastes p
                           where p.expires_at <= p_now and p.deletion_status is distinct from 'DELETION_IN_PROGRESS'
                           order by p.expires_at
                           limit c_rows);
    end if;

    with drawn as materialized (
        select h.content_hash, count(*) as times from unnest(v_hashes) as h (content_hash) group by h.content_hash
    ), judged as materialized (
        select j.content_hash, j.freed or (j.pastes > c_many and j.pastes = j.due) as freed, j.kept and not (j.pastes > c_many and j.pastes = j.due) as kept,
               case when j.pastes > c_many then greatest(c.ref_count * j.due::float8 / j.pastes, j.due) else j.due end as due
          from reaper_internal.judge_contents(array(select d.content_hash from drawn d), v_blocked, p_now, p_now, '', c_many + 1) as j
          join reaper.content c on c.content_hash = j.content_hash
         where j.due > 0
    ), weighed as (
        -- A row's share of its content, times how often the content was drawn.
        select j.content_hash, j.freed, j.kept, d.times / j.due as weight from judged j join drawn d on d.content_hash = j.content_hash
    )
    select coalesce(sum(w.weight * o.objects) filter (where w.freed), 0) / n.drawn,
           coalesce(sum(w.weight * o.bytes) filter (where w.freed), 0) / n.drawn,
           coalesce(sum(w.weight * o.unsized) filter (where w.freed), 0) / n.drawn,
           coalesce(sum(w.weight) filter (where w.kept), 0) / n.drawn
      into objects, bytes, unsized, kept
      from (select greatest(cardinality(v_hashes), 1) as drawn) as n
      left join weighed w on true
      left join lateral reaper_internal.objects_of(array[w.content_hash]) as o on w.freed
     group by n.drawn;
end;
$$;
comment on function reaper_internal.sample_due(timestamptz) is
    'For estimate_drain: objects, bytes, objects without recorded size and kept contents per due row, from a sample.';
revoke all on function reaper_internal.sample_due(timestamptz) from public;
