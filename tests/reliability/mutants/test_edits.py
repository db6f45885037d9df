"""An edit finds its words however they are laid out, and says plainly when they are not there."""

import pytest

from tests.support.mutants.mutant import Edit, source_of

TEXT = """
begin
    perform reaper_internal.require_read_committed();
    perform reaper_internal.commit_durably();
    delete from pastes p
     where p.expires_at <= v_now
       and p.expires_at <= v_now;
end
"""


@pytest.mark.parametrize(
    ("replace", "by", "left"),
    [
        ("delete from pastes p where", "", "p.expires_at"),
        (
            "perform …commit_durably();",
            "null;",
            "perform reaper_internal.require_read_committed();\n    null;",
        ),
        ("delete from …;", "… return;", "v_now; return;"),
    ],
)
def test_words_are_found_across_lines_and_within_a_statement(replace: str, by: str, left: str) -> None:
    assert left in Edit("any", replace, by).changed(TEXT)


@pytest.mark.parametrize(("replace", "times"), [("p.expires_at <= v_now", 2), ("p.short_code", 0)])
def test_words_that_are_not_there_once_are_named_with_their_function(replace: str, times: int) -> None:
    with pytest.raises(AssertionError, match=f"some_function: '{replace}' is there {times} times"):
        Edit("some_function", replace).changed(TEXT)


def test_a_function_is_found_by_its_name_alone() -> None:
    assert "claim_expired(" in source_of("claim_expired")
    with pytest.raises(AssertionError, match="0 files make the function no_such_function"):
        source_of("no_such_function")
