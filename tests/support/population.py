"""Pastes of any number, with contents that they share, objects and cache entries."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg

if TYPE_CHECKING:
    from tests.support.world import World

CONTENT = """
insert into content (content_hash, object_key, size_bytes)
select h, left(h, 2) || '/' || h || '/' || replace(gen_random_uuid()::text, '-', ''), 10
  from generate_series(1, %s) as i
 cross join lateral encode(sha256(i::text::bytea), 'hex') as h
"""
PASTES = """
insert into pastes (short_code, content_hash, expires_at)
select %s || lpad(i::text, 6, '0'),
       encode(sha256((case when i <= %s then 1 else 1 + (i * %s) %% %s end)::text::bytea), 'hex'),
       reaper.clock() + %s::interval - interval '1 second' * (i %% 1000)
  from generate_series(1, %s) as i
"""
COUNT = """
update content c set ref_count = n.refs
  from (select content_hash, count(*) as refs from pastes group by content_hash) as n
 where n.content_hash = c.content_hash
"""
UNUSED = "delete from content where ref_count = 0"


def fill(world: World, due: int, live: int, contents: int, hot: int = 0, cached: bool = True) -> None:
    """Due pastes over all contents (`hot` of them on the first), live ones on every tenth."""
    # One transaction: a drain that still runs takes content that no paste names yet.
    with psycopg.connect(world.dsn) as writer:
        writer.execute(CONTENT, [contents])
        writer.execute(PASTES, ["due", hot, 1, contents, "-1 hour", due])
        writer.execute(PASTES, ["live", 0, 10, contents, "1 day", live])
        writer.execute(COUNT)
        writer.execute(UNUSED)
    world.put([row[0] for row in world.sql("select object_key from content")])
    if cached:
        pipeline = world.cache().pipeline(transaction=False)
        for (code,) in world.sql("select short_code from pastes"):
            pipeline.set(f"paste:{code}", "cached")
        pipeline.execute()
