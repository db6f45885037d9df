"""Everything that can be wrong, done by hand or lost in a restore, and how it must be named."""

from collections.abc import Callable
from dataclasses import dataclass

from tests.support.citus_catalogue import distributing
from tests.support.detectors.world import DamageableWorld
from tests.support.world import BODY

Name = tuple[str, str]
Deed = str | Callable[[DamageableWorld], object]


@dataclass(frozen=True)
class Damage:
    """What was done, and all that the commands must say about it: name, and how the words about it begin."""

    what: str
    deed: Deed
    verify: tuple[Name, ...] = ()
    doctor: tuple[Name, ...] = ()

    def do(self, world: DamageableWorld) -> None:
        """Do it, with the names that this world has."""
        if callable(self.deed):
            self.deed(world)
        else:
            world.db.execute(world.named(self.deed).encode())


QUIETLY = "set local session_replication_role = replica; {} ; set local session_replication_role = origin"
DELTA = "insert into reaper.byte_deltas (backend, {kind}_bytes) values ('{backend}', {bytes})"
QUEUED = (
    "insert into reaper.cleanup_queue (backend, object_key, size_bytes, queued_at, next_attempt)"
    " values ('default', '%s', 0, now(), now())"
)
LOCATION = (
    "insert into reaper.object_locations (content_hash, backend, object_key, size_bytes, created_at)"
    " values ('%s', 'east', '%s', 0, now())"
)


def changed(function: str, old: str, new: str) -> Callable[[DamageableWorld], object]:
    """A function whose body somebody has edited."""

    def deed(world: DamageableWorld) -> None:
        text = world.one(f"select pg_get_functiondef('reaper.{function}'::regproc)")
        assert old in text
        world.db.execute(text.replace(old, new).encode())

    return deed


def off(kind: str, backend: str) -> Damage:
    """An account that differs from its rows."""
    sql = DELTA.format(kind=kind, backend=backend, bytes=-7)
    words = f"{backend}: {kind} bytes: account "
    return Damage(f"{kind} bytes are off", sql, verify=(("the accounts equal the rows", words),))


COUNTS = [
    Damage(
        "a count is one too high",
        "update content set ref_count = ref_count + 1 where content_hash = 'shared'",
        verify=(("ref_count equals the paste rows", "shared: ref_count is 3, number of paste rows is 2"),),
    ),
    Damage(
        "a count is one too low",
        "update content set ref_count = ref_count - 1 where content_hash = 'shared'",
        verify=(("ref_count equals the paste rows", "shared: ref_count is 1, number of paste rows is 2"),),
    ),
    Damage(
        "a live paste has no content row",
        QUIETLY.format("delete from content where content_hash = 'b0'"),
        verify=(("every paste has its content", "b0: 1 paste rows"), ("orphan object", "b0: 10 bytes")),
    ),
    off("used", "east"),
    off("orphan", "default"),
    off("reserved", "default"),
    Damage(
        "an account is lost",
        "delete from reaper.byte_deltas where backend = 'east'",
        verify=(
            ("the accounts equal the rows", "east: orphan bytes: account 0, rows 10"),
            ("the accounts equal the rows", "east: used bytes: account 0, rows 10"),
        ),
    ),
]
OBJECTS = [
    Damage(
        "an object is missing",
        lambda world: world.backends["default"].drop("key of shared"),
        verify=(("missing object", "key of shared: shared, the content of 2 live pastes (live, twin)"),),
    ),
    Damage(
        "a copy is missing on one backend",
        lambda world: world.backends["east"].drop("key of c0"),
        verify=(("missing object", "key of c0 on east: c0, the content of 1 live pastes (far)"),),
    ),
    Damage(
        "an object is nobody's",
        lambda world: world.backends["default"].store("stray", BODY),
        verify=(("orphan object", "stray: 10 bytes"),),
    ),
    Damage(
        "an object is nobody's on another backend",
        lambda world: world.backends["east"].store("key of shared", BODY),
        verify=(("orphan object", "key of shared on east: 10 bytes"),),
    ),
    Damage(
        "an object was cut off",
        lambda world: world.backends["default"].store("key of shared", b"012"),
        verify=(("wrong size", "key of shared: 3 bytes are stored, content shared has 10"),),
    ),
    Damage(
        "two contents have one object",
        "insert into content (content_hash) values ('key of shared')",
        verify=(("no object key is used twice", "key of shared: 2 contents"),),
    ),
    Damage(
        "a live object is queued for deletion",
        QUEUED % "key of shared",
        verify=(("no live object is to be deleted", "key of shared: content shared"),),
    ),
    Damage(
        "a copy belongs to no content",
        lambda world: (
            world.db.execute(LOCATION % ("nobody", "left")),
            world.backends["east"].store("left", BODY),
        ),
        verify=(("every copy belongs to content", "east/left: content nobody"),),
    ),
    Damage(
        "a copy has another size",
        f"""update reaper.object_locations set size_bytes = 11 where content_hash = 'c0' and backend = 'east';
            {DELTA.format(kind="used", backend="east", bytes=1)}""",
        verify=(
            ("a copy is as large as its content", "east/key of c0: the copy has 11 bytes"),
            ("wrong size", "key of c0 on east: 10 bytes are stored"),
        ),
    ),
    Damage(
        "content has another name than its copies",
        "update content set object_key = 'c0/another' where content_hash = 'c0'",
        verify=(("content with copies has one under its own key", "c0: no copy has the key c0/another"),),
    ),
    Damage(
        "a copy is made under the name of another object",
        """insert into reaper.copy_intents
             (intent_id, content_hash, purpose, source, source_key, destination, object_key, begun_at, lease,
              lease_until)
           values ('00000000-0000-0000-0000-000000000002', 'c0', 'replicate', 'east', 'key of c0', 'default',
                   'key of shared', now(), '00000000-0000-0000-0000-000000000003', now())""",
        verify=(
            (
                "an upload has its name to itself",
                "key of shared: intent 00000000-0000-0000-0000-000000000002 uploads to this key",
            ),
        ),
    ),
    Damage(
        "a copy reserves no room",
        """insert into reaper.copy_intents
             (intent_id, content_hash, purpose, source, source_key, destination, object_key, size_bytes,
              begun_at, lease, lease_until)
           values ('00000000-0000-0000-0000-000000000002', 'c0', 'replicate', 'east', 'key of c0', 'default',
                   'new key', 10, now(), '00000000-0000-0000-0000-000000000003', now())""",
        verify=(("the accounts equal the rows", "default: reserved bytes: account "),),
    ),
    Damage(
        "a copy of nothing is wanted for ever",
        """insert into reaper.copy_wants (content_hash, good, reason, queued_at, next_attempt)
           values ('nothing', 1, 'few', now(), now() - interval '2 hours')""",
        verify=(("what wants a copy exists", "nothing: wanted since "),),
    ),
    Damage(
        "a backend is forgotten",
        "delete from reaper.backend_list where name = 'east'",
        verify=(("every backend is known", "east: 2 objects"),),
    ),
]
BATCHES = [
    Damage(
        "a batch has no rows",
        """insert into reaper.batches (batch_id, worker, short_codes, rows_claimed, claimed_at, held_since)
           values ('00000000-0000-0000-0000-000000000001', 'worker-1', '{{}}', 0, now(), now())""",
        verify=(("every claimed batch has rows", "00000000-0000-0000-0000-000000000001: held by worker-1"),),
    ),
    Damage(
        "a row is marked and in no batch",
        "update pastes set deletion_status = 'DELETION_IN_PROGRESS' where short_code = 'live'",
        verify=(("every marked row is in a batch", "live: "),),
    ),
    Damage(
        "a claimed batch is lost",
        "delete from reaper.batches where batch_id = '{claimed}'",
        verify=(
            ("every marked row is in a batch", "claimed: "),
            ("every marked row is in a batch", "waiting: "),
        ),
    ),
    Damage(
        "a released object is in no journal",
        """update reaper.batches
              set object_hashes = object_hashes[2:], object_backends = object_backends[2:],
                  object_keys = object_keys[2:], object_sizes = object_sizes[2:]
            where batch_id = '{released}'""",
        verify=(
            ("a retired name is queued for deletion", "{journalled}: "),
            ("orphan object", "{journalled}: 10 bytes"),
            ("the accounts equal the rows", "default: orphan bytes: account "),
        ),
    ),
]
QUEUES = [
    Damage(
        "a deletion is queued and given up",
        """insert into reaper.cleanup_dlq
             (queue_id, backend, object_key, size_bytes, attempts, last_error, queued_at, buried_at)
           values (0, 'east', 'k1', 0, 1, '', now(), now())""",
        verify=(("an object is queued for deletion once", "east/k1: cleanup_dlq, cleanup_queue"),),
    ),
    Damage(
        "a name is retired for ever",
        "insert into reaper.retired_keys values ('gone', now())",
        verify=(("a retired name is queued for deletion", "gone: "),),
    ),
    Damage(
        "a name may be used again before its object is gone",
        "delete from reaper.retired_keys where object_key = 'of released'",
        verify=(("a name that may come back is retired", "default/of released: "),),
    ),
    Damage(
        "an untracked object is to be deleted and its name may be used",
        """insert into reaper.sightings values ('east', 'k2', 10, now(), now(), now(), null)""",
        verify=(("a name that may come back is retired", "east/k2: about to be queued"),),
    ),
    Damage(
        "a suspected copy is never looked for again",
        """insert into reaper.suspects values ('east', 'key of c0', 'c0', now(), 'infinity', null)""",
        verify=(("what waits comes due", "suspected copy east/key of c0: next attempt"),),
    ),
    Damage(
        "a deletion never comes due",
        "update reaper.cleanup_queue set next_attempt = 'infinity' where object_key = 'k1'",
        verify=(("what waits comes due", "east/k1: next attempt not before infinity"),),
    ),
    Damage(
        "the watchdog never looks for strays",
        "update reaper.stray_scan set rest_until = 'infinity'",
        verify=(("what waits comes due", "scan for stray marks: next attempt not before infinity"),),
    ),
    Damage(
        "an upload goes to a name that is content",
        "update reaper.put_intents set object_key = 'key of shared'",
        verify=(("an upload has its name to itself", "key of shared: intent "), ("orphan object", "i0/i0/")),
    ),
    Damage(
        "an intent has no reservation",
        f"""update reaper.put_intents set reserved = false;
            {DELTA.format(kind="reserved", backend="default", bytes=-10)}""",
        verify=(("an upload has room reserved", "{intent}: 10 bytes are uploaded to default"),),
    ),
    Damage(
        "an intent is lost",
        "delete from reaper.put_intents",
        verify=(
            ("orphan object", "{coming}: 10 bytes"),
            ("the accounts equal the rows", "default: reserved bytes: account 10, rows 0"),
        ),
    ),
    Damage(
        "a cache entry outlives its paste",
        lambda world: world.entry("gone"),
        verify=(("stale cache entry", "gone: its paste is gone"),),
    ),
    Damage(
        "a cache entry is owed to nobody any more",
        "delete from reaper.invalidations",
        verify=(("stale cache entry", "forgotten: its paste is gone"),),
    ),
    Damage(
        "a paste expired long ago and is still cached",
        "update pastes set expires_at = now() - interval '27 hours' where short_code = 'waiting'",
        verify=(("stale cache entry", "waiting: its paste expired over 26 hours ago"),),
    ),
]
CODE = [
    Damage(
        "the body of a function was changed",
        changed("count_due", "DELETION_IN_PROGRESS", "DELETED"),
        doctor=(("code", "fail, differs from this release: count_due"),),
    ),
    Damage(
        "a definer function lost its search_path",
        "alter function reaper.drop_references(uuid) reset search_path",
        doctor=(("code", "fail, differs from this release: drop_references"),),
    ),
    Damage(
        "a definer function is none any more",
        "alter function reaper.claim_invalidations(integer) security invoker",
        doctor=(("code", "fail, differs from this release: claim_invalidations"),),
    ),
    Damage(
        "a function waits for locks longer than it should",
        "alter function reaper.commit_put(uuid, boolean) set lock_timeout = '1h'",
        doctor=(("code", "fail, differs from this release: commit_put"),),
    ),
    Damage(
        "a function is said to be stable that is not",
        "alter function reaper.claim_cleanup(integer, text, timestamptz) stable",
        doctor=(("code", "fail, differs from this release: claim_cleanup"),),
    ),
    Damage(
        "a function is missing",
        "drop function reaper.plan_drain()",
        doctor=(("code", "fail, differs from this release: plan_drain"), ("grants", "fail, missing: ")),
    ),
    Damage(
        "a function has a double",
        "create function reaper.clock(integer) returns integer language sql as 'select 1';"
        "alter function reaper.clock(integer) owner to reaper_owner;"
        "revoke all on function reaper.clock(integer) from public",
        doctor=(("code", "fail, differs from this release: clock"),),
    ),
    Damage(
        "an internal function forgets its planner settings",
        "alter function reaper_internal.return_rows(text[], jsonb) reset all",
        doctor=(("code", "fail, differs from this release: return_rows"),),
    ),
    Damage(
        "an internal function is missing",
        "drop function reaper_internal.require_age(interval)",
        doctor=(("code", "fail, differs from this release: require_age"),),
    ),
    Damage(
        "an internal function is not of this release",
        "create function reaper_internal.mine() returns integer language sql as 'select 1';"
        "alter function reaper_internal.mine() owner to reaper_owner;"
        "revoke all on function reaper_internal.mine() from public",
        doctor=(("code", "warn, not part of this release: mine"),),
    ),
    Damage(
        "a function is not of this release",
        "create function reaper.mine() returns integer language sql as 'select 1';"
        "alter function reaper.mine() owner to reaper_owner;"
        "revoke all on function reaper.mine() from public",
        doctor=(("code", "warn, not part of this release: mine"),),
    ),
    Damage(
        "a view was changed",
        """create or replace view reaper.backlog as
           select null::timestamptz as expired_in, 0::bigint as waiting, 0::bigint as in_progress""",
        doctor=(("code", "fail, differs from this release: backlog"),),
    ),
    Damage(
        "a migration is missing",
        "delete from reaper.migration_files where id = (select max(id) from reaper.migration_files)",
        doctor=(("schema", "fail, "),),
    ),
]
RIGHTS = [
    Damage(
        "a definer function has another owner",
        "alter function reaper.clock() owner to postgres",
        doctor=(("ownership", "fail, not owned by reaper_owner: clock()"),),
    ),
    Damage(
        "a table has another owner",
        "alter table reaper.batches owner to postgres",
        doctor=(("ownership", "fail, not owned by reaper_owner: batches"),),
    ),
    Damage(
        "a grant is missing",
        "revoke execute on function reaper.heartbeat(text, bigint, jsonb, boolean) from reaper_worker",
        doctor=(("grants", "fail, missing: reaper_worker on heartbeat"),),
    ),
    Damage(
        "a grant is surplus",
        "grant execute on function reaper.plan_drain() to reaper_app",
        doctor=(("grants", "warn, surplus: reaper_app on plan_drain"),),
    ),
    Damage(
        "an internal function is open",
        "grant execute on function reaper_internal.free_names(text[]) to reaper_app",
        doctor=(
            ("grants", "warn, surplus: reaper_app on free_names"),
            ("rights on internal functions", "fail, reaper_app has EXECUTE on reaper_internal.free_names"),
        ),
    ),
    Damage(
        "the internal schema is open",
        "grant usage on schema reaper_internal to reaper_ops",
        doctor=(("rights on internal functions", "fail, reaper_ops has USAGE on schema reaper_internal"),),
    ),
    Damage(
        "everybody may call an internal function",
        "grant execute on function reaper_internal.free_names(text[]) to public",
        doctor=(("rights of PUBLIC", "fail, PUBLIC has EXECUTE on reaper_internal.free_names"),),
    ),
    Damage(
        "an internal function has another owner",
        "alter function reaper_internal.free_names(text[]) owner to postgres",
        doctor=(("ownership", "fail, not owned by reaper_owner: reaper_internal.free_names(text[])"),),
    ),
    Damage(
        "everybody may call a function",
        "grant execute on function reaper.drop_references(uuid) to public",
        doctor=(("rights of PUBLIC", "fail, PUBLIC has EXECUTE on drop_references(uuid)"),),
    ),
    Damage(
        "everybody may look into the schema",
        "grant usage on schema reaper to public",
        doctor=(("rights of PUBLIC", "fail, PUBLIC has USAGE on schema reaper"),),
    ),
    Damage(
        "a table is open",
        "grant delete on reaper.batches to reaper_worker",
        doctor=(("rights on tables", "fail, reaper_worker has DELETE on batches"),),
    ),
    Damage(
        "somebody may set the clock",
        "grant update (clock_offset) on reaper.settings to reaper_ops",
        doctor=(("rights on tables", "fail, reaper_ops has UPDATE on settings.clock_offset"),),
    ),
    Damage(
        "the owner may not delete pastes",
        "revoke delete on pastes from reaper_owner",
        doctor=(
            ("binding", "fail, reaper_owner has no right to delete rows of public.pastes"),
            ("rights of the owner", "fail, missing: DELETE on public.pastes"),
        ),
    ),
    Damage(
        "the owner can log in",
        "alter role reaper_owner login",
        doctor=(("owner role", "fail, reaper_owner can log in"),),
    ),
]
TABLES = [
    Damage(
        "the claim has no index",
        "drop index reaper_pastes_due",
        doctor=(("index on pastes.expires_at", "fail, missing: every claim"),),
    ),
    Damage(
        "the claim has an index that cannot serve it",
        "drop index reaper_pastes_due; create index on pastes using brin (expires_at)",
        doctor=(("index on pastes.expires_at", "fail, missing: every claim"),),
    ),
    Damage(
        "the drop has no index",
        "drop index reaper_pastes_content",
        doctor=(("index on pastes.content_hash", "fail, missing: every drop"),),
    ),
    Damage(
        "names of objects are not unique",
        "drop index reaper_content_object_key",
        doctor=(("index on content.object_key", "fail, missing: two contents"),),
    ),
    Damage(
        "an index was never finished",
        "create index half on pastes (created_at);"
        "update pg_index set indisvalid = false where indexrelid = 'half'::regclass",
        doctor=(("invalid indexes", "fail, invalid: public.half"),),
    ),
    Damage(
        "an index slows the claim",
        "create index slow on pastes (expires_at) where deletion_status = 'DELETED'",
        doctor=(("indexes that slow claims", "warn, public.slow contains"),),
    ),
    Damage(
        "a table inherits from pastes",
        "create table more_pastes () inherits (pastes)",
        doctor=(
            ("binding", "fail, public.pastes takes part in table inheritance"),
            ("table inheritance", "fail, inherit from pastes or content: public.more_pastes"),
        ),
    ),
    Damage(
        "Citus distributes pastes",
        distributing("pastes"),
        doctor=(
            ("binding", "fail, public.pastes is distributed by Citus"),
            ("distributed tables", "fail, distributed by Citus: pastes"),
        ),
    ),
    Damage(
        "an index of the queue is dropped",
        "drop index reaper.cleanup_queue_due_by_backend",
        doctor=(("indexes of reaper", "fail, missing: cleanup_queue_due_by_backend"),),
    ),
    Damage(
        "a key of ours is dropped",
        "alter table reaper.retired_keys drop constraint retired_keys_pkey",
        doctor=(("indexes of reaper", "fail, missing: primary key of retired_keys"),),
    ),
    Damage(
        "the foreign key is dropped",
        "alter table pastes drop constraint pastes_content_hash_fkey",
        doctor=(
            ("binding", "fail, no foreign key from public.pastes to public.content"),
            ("foreign key from pastes to content", "fail, the constraint is missing"),
        ),
    ),
    Damage(
        "the foreign key is not validated",
        """alter table pastes drop constraint pastes_content_hash_fkey;
           alter table pastes add foreign key (content_hash) references content not valid""",
        doctor=(("foreign key from pastes to content", "fail, not validated"),),
    ),
    Damage(
        "the foreign key is switched off",
        "alter table pastes disable trigger all",
        doctor=(("foreign key from pastes to content", "fail, its triggers are disabled"),),
    ),
    Damage(
        "the foreign key is switched off on the other side",
        "alter table content disable trigger all; alter table content enable trigger reaper_retired_key",
        doctor=(("foreign key from pastes to content", "fail, its triggers are disabled"),),
    ),
    Damage(
        "a status may be anything",
        "alter table pastes drop constraint pastes_deletion_status_check",
        doctor=(("check of pastes.deletion_status", "fail, the constraint is missing"),),
    ),
    Damage(
        "the guard of retired names is disabled",
        "alter table content disable trigger reaper_retired_key",
        doctor=(
            ("binding", "fail, trigger reaper_retired_key on public.content is missing, disabled or watches"),
            ("guard of retired object keys", "fail, trigger reaper_retired_key"),
        ),
    ),
    Damage(
        "the guard of retired names looks too early",
        """drop trigger reaper_retired_key on content;
           create trigger reaper_retired_key before insert on content
               for each row execute function reaper_internal.require_free_key()""",
        doctor=(
            ("binding", "fail, trigger reaper_retired_key on public.content is missing, disabled or watches"),
            ("guard of retired object keys", "fail, trigger reaper_retired_key"),
        ),
    ),
    Damage(
        "deleted rows are never vacuumed",
        "alter table pastes set (autovacuum_enabled = off)",
        doctor=(("autovacuum", "warn, off for pastes"),),
    ),
]
SETTINGS = [
    Damage(
        "the clock was moved and left so",
        "update reaper.settings set clock_may_move = true, clock_offset = '1 second'",
        doctor=(("clock", "fail, reaper.clock() is shifted by 00:00:01"),),
    ),
    Damage(
        "deletions wait for a standby that is not there",
        "update reaper.settings set wait_for_standby = 'east'",
        doctor=(("standby", "fail, reaper_owner cannot see the position of standbys"),),
    ),
    Damage(
        "the settings are gone",
        "delete from reaper.settings",
        doctor=(("required rows", "fail, missing in reaper.settings"),),
    ),
    Damage(
        "the watchdog forgot where it was",
        "delete from reaper.stray_scan",
        doctor=(("required rows", "fail, missing in reaper.stray_scan"),),
    ),
    Damage(
        "no trigger fires in new sessions",
        "set local session_replication_role = replica",
        doctor=(("triggers", "fail, session_replication_role is replica"),),
    ),
    Damage(
        "deletions wait for a standby that is away",
        """grant pg_read_all_stats to reaper_owner;
           update reaper.settings set wait_for_standby = 'second'""",
        doctor=(("standby", "fail, deletions wait for second, which is not connected"),),
    ),
    Damage(
        "deletions wait for a standby that nobody can see",
        "update reaper.settings set wait_for_standby = '*'",
        doctor=(("standby", "fail, reaper_owner cannot see the position of standbys"),),
    ),
    Damage(
        "transactions begin serializable",
        "set local default_transaction_isolation = 'serializable'",
        doctor=(("isolation", "warn, default_transaction_isolation is serializable"),),
    ),
    Damage(
        "a backend is left alone",
        """insert into reaper.circuits (backend, state, changed_at, retry_at, last_error)
           values ('east', 'open', now(), now(), 'no connection')""",
        doctor=(("circuit east", "fail, open: no connection"),),
    ),
    Damage(
        "a backend is not configured here",
        "select reaper.register_backend('cold')",
        doctor=(("backend cold", "warn, known to PostgreSQL, not configured here"),),
    ),
    Damage(
        "the database is a copy",
        "update reaper.installation set database = 'production', system_identifier = 7",
        doctor=(("installation", "warn, recorded as production on system 7, now "),),
    ),
]
DAMAGES = [*COUNTS, *OBJECTS, *BATCHES, *QUEUES, *CODE, *RIGHTS, *TABLES, *SETTINGS]
