"""Random programs, of everything that can be done and everything that can go wrong, break no promise."""

from contextlib import suppress

import hypothesis
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.errors import FlakyStrategyDefinition
from hypothesis.internal.conjecture import engine
from hypothesis.stateful import run_state_machine_as_test

from tests.reliability.mutants import dropping, naming
from tests.support.mutants.mutant import Mutant
from tests.support.ordeals import Ordeal
from tests.support.programs.model import Model
from tests.support.programs.program import Program

PROGRAMS, STEPS = 8, 100
# Mutants of the SQL that a few programs are enough for.
SOON = {
    "a drop does not look at the expiry again",
    "a drop subtracts one per content",
    "objects are called by their hash",
}
FOUND_SOON = [mutant for mutant in (*dropping.MUTANTS, *naming.MUTANTS) if mutant.what in SOON]


def run(model: Model, seed: int, shrink: bool = True) -> None:
    """So many programs that are drawn from a seed; where one fails, a short one that does is shown."""
    machine = type("Program", (Program,), {"model": model})
    hypothesis.seed(seed)(machine)
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=PROGRAMS,
            stateful_step_count=STEPS,
            phases=[Phase.generate, Phase.shrink] if shrink else [Phase.generate],
            deadline=None,
            database=None,
            report_multiple_bugs=False,
            suppress_health_check=list(HealthCheck),
        ),
    )


def run_many(model: Model) -> None:
    """Far more programs than should be needed."""
    for seed in range(1, 20):
        # A program that met a lock at another moment when it was repeated tells nothing; the next one may.
        with suppress(FlakyStrategyDefinition):
            run(model, seed, shrink=False)


@pytest.mark.ordeal("state machine", aim="200,000 steps", share=14)
def test_random_programs_break_no_promise(
    model: Model, ordeal: Ordeal, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A program takes a third of a second: a short one is worth a minute, not five.
    monkeypatch.setattr(engine, "MAX_SHRINKING_SECONDS", 60)
    for number in ordeal.rounds(short=1):
        print(f"these programs again: --seed {ordeal.seed + number}")
        run(model, ordeal.seed + number)
        model.tidy()
    for what, times in model.seen.items():
        ordeal.survived(what, times)


@pytest.mark.slow(but="a drop subtracts")
@pytest.mark.parametrize("mutant", FOUND_SOON, ids=lambda mutant: mutant.what)
def test_programs_find_out_when_a_safeguard_is_taken_away(model: Model, mutant: Mutant) -> None:
    for edit in mutant.edits:
        edit.load(model.db)
    with pytest.raises(AssertionError):
        run_many(model)
