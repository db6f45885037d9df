"""Through the views PostgreSQL plans the hot statements as on the tables themselves."""

from typing import Any

import pytest

from tests.support.paste_fixtures import Connection

# As the functions have them; {pastes} and {content} are a view or its table, {place} is the row's address.
HOT = {
    "the claim": """
        select p.short_code, p.{place} from {pastes} p
         where p.expires_at <= now() and (p.expires_at, p.short_code) >= ('-infinity'::timestamptz, '')
           and p.deletion_status is distinct from 'DELETION_IN_PROGRESS'
         order by p.expires_at, p.short_code limit 1000 for update skip locked""",
    "the mark": """
        update {pastes} p set deletion_status = 'DELETION_IN_PROGRESS', deletion_initiated_at = now()
         where p.{place} = any ('{{"(0,1)","(0,2)"}}'::tid[]) returning p.short_code, p.{place}""",
    "the rows of a batch": """
        select p.short_code from {pastes} p where p.{place} = any ('{{"(0,1)","(0,2)"}}'::tid[])
           and p.deletion_status = 'DELETION_IN_PROGRESS' for update skip locked""",
    "the deletion of rows": """
        delete from {pastes} p where p.{place} = any ('{{"(0,1)"}}'::tid[]) and p.expires_at <= now()
        returning p.short_code, p.content_hash""",
    "the contents in hash order": """
        select c.content_hash, c.{place}, c.ref_count from {content} c
         where c.content_hash = any ('{{a,b}}'::text[]) order by c.content_hash for update""",
    "who names a content": "select from {pastes} p where p.content_hash = 'h' limit 1",
    "the subtraction": """
        update {content} c set ref_count = a.refs
          from unnest('{{"(0,1)"}}'::tid[], '{{1}}'::bigint[]) as a (place, refs)
         where c.{place} = a.place""",
    "the deletion of contents": """
        delete from {content} c where c.{place} = any ('{{"(0,1)"}}'::tid[])
        returning c.content_hash, coalesce(c.object_key, c.content_hash), c.size_bytes""",
    "a look for keys": "select from {content} c where c.object_key = any ('{{a,b}}'::text[])",
    "a put": """
        insert into {content} (content_hash, object_key, ref_count) values ('a', 'b', 1)
            on conflict (content_hash) do nothing""",
}
PINNED = "set enable_seqscan = off; set enable_bitmapscan = off; set jit = off"
SHAPE = (
    "Node Type",
    "Relation Name",
    "Index Name",
    "Index Cond",
    "TID Cond",
    "Filter",
    "Operation",
    "Sort Key",
)


def shape(plan: dict[str, Any]) -> dict[str, Any]:
    """What a plan does, without what it costs and what it calls its columns."""
    found: dict[str, Any] = {key: plan[key] for key in SHAPE if key in plan}
    return found | {"Plans": [shape(child) for child in plan.get("Plans", ())]}


def planned(db: Connection, statement: str, **names: str) -> str:
    [(plans,)] = db.execute("explain (format json) " + statement.format(**names)).fetchall()  # type: ignore[arg-type]
    alike = str(shape(plans[0]["Plan"]))
    return alike.replace("pastes.", "").replace("content.", "").replace("p.", "").replace("c.", "")


@pytest.mark.parametrize("statement", HOT.values(), ids=HOT.keys())
@pytest.mark.parametrize("analyzed", [False, True], ids=["before analyze", "after analyze"])
def test_a_hot_statement_is_planned_through_the_view_as_on_the_table(db, paste, statement, analyzed):
    paste.many("p", 300)
    if analyzed:
        db.execute("analyze pastes, content")
    db.execute(PINNED)
    through = planned(db, statement, pastes="reaper.pastes", content="reaper.content", place="place")
    direct = planned(db, statement, pastes="public.pastes", content="public.content", place="ctid")
    assert through == direct
    assert "Seq Scan" not in through or "unnest" in statement


def test_an_expression_as_object_key_is_found_by_its_index(db):
    db.execute("create unique index on content (('objects/' || content_hash))")
    db.execute(
        "select reaper.unbind(); update reaper.bindings set columns = columns - 'object_key',"
        " key_expression = '''objects/'' || content_hash' where name = 'content'; select reaper.bind()"
    )
    db.execute(PINNED)
    plan = planned(db, HOT["a look for keys"], content="reaper.content")
    assert "content_expr_idx" in plan
    assert "Seq Scan" not in plan
