"""The model of the protocol holds in every state, and no safeguard in it is idle."""

import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.ordeals import Ordeal

CHECK = Path(__file__).parents[3] / "model" / "check"
GLOBALS = runpy.run_path(str(CHECK))
MODELS, MUTANTS = GLOBALS["MODELS"], GLOBALS["MUTANTS"]
MISSING = [tool for tool in ("spin", "gcc") if shutil.which(tool) is None]

pytestmark = [
    pytest.mark.skipif(
        bool(MISSING), reason=f"not installed: {', '.join(MISSING)}; the model is searched by spin"
    ),
    pytest.mark.ordeal("model", aim="searched exhaustively, every mutant caught", share=0),
]


def check(name: str) -> str:
    """What is said of the model or a mutant, if it is as it should be."""
    ran = subprocess.run([sys.executable, CHECK, name], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_the_model_holds_in_every_state(ordeal: Ordeal, model: str) -> None:
    states = re.search(r"holds in all (\d+) states", check(model))
    assert states is not None
    ordeal.survived("states", int(states[1]))


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("mutant", MUTANTS)
def test_without_one_safeguard_its_assertion_fails(ordeal: Ordeal, mutant: str) -> None:
    assert f"caught by {MUTANTS[mutant]}" in check(mutant)
    ordeal.survived("mutants caught")
