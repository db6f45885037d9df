"""What a person reads of the SQL names the thing and the action: words that name neither are refused."""

import re
from pathlib import Path

import pytest

from reaper.migrate.release_folders import installed_folders
from tests.support.paste_fixtures import Connection, column

# Understood by PostgreSQL and, with \b for \m and \M, by Python.
VAGUE = (
    r"\m(somebody|nobody|anybody|everybody|whoever|(left|leaves?) (it )?alone|go(es)? on|going on"
    r"|dead letters?|ow(e|es|ed|ing))\M"
)
COMMENTS = """
    select i.identity
      from pg_description d
     cross join pg_identify_object(d.classoid, d.objoid, d.objsubid) as i
     where d.objoid >= 16384 and i.schema is distinct from 'procrastinate'
       and d.description ~* %s
"""
BODIES = """
    select p.oid::regprocedure::text
      from pg_proc p
     where p.pronamespace in ('reaper'::regnamespace, 'reaper_internal'::regnamespace)
       and p.prosrc ~* %s
"""
VIEWS = """
    select c.oid::regclass::text
      from pg_class c
     where c.relnamespace = 'reaper'::regnamespace and c.relkind = 'v'
       and pg_get_viewdef(c.oid) ~* %s
"""
# One of each kind with a word that is refused: the queries below must find them.
VAGUE_OBJECTS = {
    COMMENTS: "comment on column reaper.batches.worker is 'Nobody holds it.'",
    BODIES: """create function reaper.vague() returns void language plpgsql
               as $$ begin raise exception 'drop it and go on'; end $$""",
    VIEWS: "create view reaper.vague as select 'dead letters' as what",
}


@pytest.mark.parametrize("query", VAGUE_OBJECTS, ids=["comments", "functions", "views"])
def test_what_the_database_says_names_the_thing(db, query):
    assert column(db, query, VAGUE) == []


@pytest.mark.parametrize(("query", "vague"), VAGUE_OBJECTS.items(), ids=["comments", "functions", "views"])
def test_a_vague_word_is_noticed(db: Connection, query: str, vague: str):
    with db.transaction(force_rollback=True):
        db.execute(vague)
        assert len(column(db, query, VAGUE)) == 1


def remarks(file: Path) -> list[str]:
    """The comments of a file, without the names of migrations."""
    lines = [line.strip() for line in file.read_text().splitlines()]
    return [line for line in lines if line.startswith("--") and not line.startswith("-- depends:")]


def test_the_comments_of_the_files_name_the_thing():
    folders = installed_folders()
    vague = re.compile(re.sub(r"\\[mM]", r"\\b", VAGUE), re.IGNORECASE)
    files = [*folders.sql.rglob("*.sql"), *folders.migrations.glob("*.sql")]
    assert len(files) > 200
    assert [(file.name, line) for file in files for line in remarks(file) if vague.search(line)] == []
    assert vague.search("-- Whoever comes late")
