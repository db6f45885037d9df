"""Every kind of damage is named, with its subject, and nothing is found where all is in order."""

from collections.abc import Iterable

import pytest

from tests.reliability.detectors.damages import DAMAGES, Damage, Name
from tests.support.detectors.world import DamageableWorld, Found
from tests.support.ordeals import Ordeal
from tests.support.paste_fixtures import column

INDEXES = """
select x.relname::text
  from pg_index i
  join pg_class x on x.oid = i.indexrelid
 where x.relnamespace = 'reaper'::regnamespace and not i.indisprimary
"""


def test_where_all_is_in_order_nothing_is_found(world: DamageableWorld) -> None:
    assert [*world.verify(), *world.doctor()] == []


@pytest.mark.slow(but=45)
@pytest.mark.ordeal("detectors", aim="20 kinds of damage, each named", share=0)
@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.what)
def test_damage_is_named_exactly(world: DamageableWorld, ordeal: Ordeal, damage: Damage) -> None:
    with world.damaged():
        damage.do(world)
        if damage.verify:
            judge(world, world.verify(), damage.verify)
        if damage.doctor:
            judge(world, world.doctor(), damage.doctor)
    ordeal.survived("kinds of damage")


def test_what_was_damaged_is_in_order_again(world: DamageableWorld) -> None:
    assert [*world.verify(), *world.doctor()] == []


def test_every_index_of_ours_would_be_missed(world: DamageableWorld) -> None:
    """Who makes a new one in a migration also writes it into diagnose_own_tables."""
    known = world.one("select pg_get_functiondef('reaper.diagnose_own_tables'::regproc)")
    indexes = column(world.db, INDEXES)
    assert [name for name in indexes if f"'{name}'" not in known] == []


def judge(world: DamageableWorld, found: Iterable[Found], expected: Iterable[Name]) -> None:
    """These names and no others, and each about its subject."""
    complaints, wanted = sorted(found), sorted(expected)
    assert [each.name for each in complaints] == [name for name, _ in wanted]
    for each, (_, words) in zip(complaints, wanted, strict=True):
        assert each.words.startswith(world.named(words))
