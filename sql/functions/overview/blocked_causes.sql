-- blocked_causes: why PostgreSQL refuses to delete pastes, and the SQL that mends each cause, from the first p_looked_at blocked rows. A bounded
-- look along the primary key; nothing is changed.
create or replace function reaper.blocked_causes(p_looked_at integer default 10000)
    returns table (sqlstate text, message text, rows bigint, oldest timestamptz, next_attempt timestamptz, examples text[], complete boolean,
                   mending text)
    language sql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
    with looked as materialized (
        select b.short_code, b.sqlstate, b.message, b.blocked_at, b.next_attempt
          from reaper.blocked b
         order by b.short_code
         limit p_looked_at + 1
    ), causes as (
        select l.sqlstate, l.message, count(*) as rows, min(l.blocked_at) as oldest, min(l.next_attempt) as next_attempt,
               (array_agg(l.short_code order by l.short_code))[:5] as examples
          from looked l
         group by l.sqlstate, l.message
    )
    select c.sqlstate, c.message, c.rows, c.oldest, c.next_attempt, c.examples,
           (select count(*) <= p_looked_at from looked),
           reaper_internal.mending_sql(c.sqlstate, c.message)
      from causes c
     order by c.rows desc, c.message
     limit 50;
$$;
comment on function reaper.blocked_causes(integer) is
    'Why PostgreSQL refuses to delete pastes: number, examples and the SQL that mends it, from the first p_looked_at rows of reaper.blocked; complete: there are no more. At most 50 causes.';
revoke all on function reaper.blocked_causes(integer) from public;
grant execute on function reaper.blocked_causes(integer) to reaper_worker, reaper_ops, reaper_ro;
