"""A world for storms: many contents of one paste each, in a bucket that others use too."""

from dataclasses import dataclass

from tests.support.world import World

# Contents with one paste each; every tenth lives. Names come from numbers: a seed brings the run back.
FILL = """
with wanted as (
    select i, encode(sha256(i::text::bytea), 'hex') as hash from generate_series(%s::integer, %s) as i
), stored as (
    insert into content (content_hash, object_key, size_bytes, ref_count)
    select w.hash, left(w.hash, 2) || '/' || w.hash || '/' || md5(w.hash), 10, 1 from wanted w
    returning content_hash
)
insert into pastes (short_code, content_hash, expires_at)
select 'code' || lpad(w.i::text, 7, '0'), w.hash,
       reaper.clock() + case when w.i %% 10 = 0 then interval '1 year' else interval '-1 hour' end
                      + interval '1 millisecond' * w.i
  from wanted w join stored s on s.content_hash = w.hash
"""
DUE_KEYS = """
select c.object_key from content c join pastes p using (content_hash) where p.expires_at <= reaper.clock()
"""


# Objects that no row names and nobody asked to delete.
OTHERS = {f"others/{n}" for n in range(100)}


@dataclass
class S3StormWorld(World):
    """Filled and judged past the line; some of what lies in the bucket is somebody else's."""

    filled: int = 0

    def keys(self, backend: str = "default") -> set[str]:
        """What really lies in the bucket, without what is somebody else's."""
        return super().keys(backend) - OTHERS

    def fill(self, contents: int) -> set[str]:
        """More contents, of which nine in ten are due; the keys of those."""
        self.filled += contents
        self.sql(FILL, self.filled - contents + 1, self.filled)
        self.put([key for (key,) in self.sql("select object_key from content")])
        self.put(sorted(OTHERS))
        return {key for (key,) in self.sql(DUE_KEYS)}

    def owed(self) -> int:
        """Objects that are still to be deleted, wherever that is written down."""
        return int(
            self.value(
                "select (select count(*) from reaper.cleanup_queue) + (select count(*) from reaper.batches)"
            )
        )

    def touched(self) -> set[str]:
        """Every key that a request to delete ever named."""
        return {key for asked in self.s3.asked for key in asked.keys}

    def judge(self) -> None:
        """As everywhere, and nobody else has lost anything."""
        super().judge()
        assert super().keys() >= OTHERS
