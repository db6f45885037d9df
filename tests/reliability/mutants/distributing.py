"""Tables that Citus distributes: a row's address names a row in each shard, so none is deleted by it."""

from tests.support.citus_catalogue import distributing
from tests.support.mutants.mutant import mutant
from tests.support.mutants.scene import Scene

LOGINS = """
    create table logins (at timestamptz not null);
    create index on logins (at);
    grant select, delete, update (at) on logins to reaper_owner;
"""


def a_distributed_table_gets_no_policy(scene: Scene) -> None:
    scene.db.execute(LOGINS)
    scene.db.execute(distributing("logins").encode())
    with scene.refusal("RP005"):
        scene.db.execute("select reaper.add_retention_policy('logins', 'logins', 'at', '30 days')")


MUTANTS = [
    mutant(
        "a policy takes a distributed table",
        a_distributed_table_gets_no_policy,
        function="table_problems",
        replace="t.oid in (select d.rel from reaper_internal.distributed_tables() as d (rel))",
        by="false",
    ),
    mutant(
        "distributed tables are not seen",
        a_distributed_table_gets_no_policy,
        function="distributed_tables",
        replace="is not null",
        by="is null and false",
    ),
]
