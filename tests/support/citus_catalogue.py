"""What reaper sees of Citus: the list of distributed tables, which a superuser may create too."""

# Of the list's columns only the one that reaper asks for.
CREATE_LIST = """
    set allow_system_table_mods = on;
    create table pg_catalog.pg_dist_partition (logicalrelid regclass not null primary key);
    grant select on pg_catalog.pg_dist_partition to public;
    reset allow_system_table_mods;
"""


def distributing(table: str) -> str:
    """The statements after which Citus seems to distribute a table."""
    return f"{CREATE_LIST} insert into pg_catalog.pg_dist_partition values ('{table}'::regclass)"
