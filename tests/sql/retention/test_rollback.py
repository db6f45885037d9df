"""Rolling back the table of the policies."""

import pytest

from reaper.errors import WouldLoseInformation
from reaper.migrate import migrate


@pytest.mark.usefixtures("history")
def test_a_rollback_that_would_forget_a_policy_refuses_with_the_number(db, dsn, retention):
    retention.add("p", "pgbench_history", "mtime")
    db.execute("delete from reaper.audit")
    with pytest.raises(WouldLoseInformation, match="would lose 1 policies") as caught:
        migrate(dsn, to="0007")
    assert "reaper policy remove" in (caught.value.hint or "")
    migrate(dsn)
    db.execute("select reaper.remove_policy('p'); delete from reaper.audit")
    migrate(dsn, to="0007")
