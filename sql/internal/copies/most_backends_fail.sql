-- most_backends_fail: do more than half of the backends fail? Then it is our network rather than theirs, and nothing is copied because of it.
create or replace function reaper_internal.most_backends_fail()
    returns boolean
    language sql stable
as $$
    select 2 * count(c.failing_since) > count(*)
      from reaper.backend_list b
      left join reaper.circuits c on c.backend = b.name;
$$;
comment on function reaper_internal.most_backends_fail() is
    'Whether the circuits of more than half of the backends are open or being probed.';
revoke all on function reaper_internal.most_backends_fail() from public;
