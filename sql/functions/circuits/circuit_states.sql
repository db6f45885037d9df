-- circuit_states: circuits of all backends that ever failed, shared by all processes.
create or replace function reaper.circuit_states()
    returns table (backend text, state text, retry_at timestamptz, last_error text)
    language sql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
    select c.backend, c.state, c.retry_at, c.last_error from reaper.circuits c order by c.backend;
$$;
comment on function reaper.circuit_states() is
    'Circuit of every backend that ever failed; a backend that is not listed is closed.';
revoke all on function reaper.circuit_states() from public;
grant execute on function reaper.circuit_states() to reaper_worker, reaper_app, reaper_ops, reaper_ro;
