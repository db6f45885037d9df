"""Every order of the page: given with a reason and kept in the audit, or not offered and refused."""

from urllib.parse import urlencode

from reaper.ops.orders import ORDERS
from tests.support.page_scenes import make_sick
from tests.support.paste_fixtures import Connection, column, value
from tests.web.conftest import Serve

REASON = "the change <b>4711</b>"
# Each order once; what it is about, what is written beside the reason, and what the page then says.
GIVEN = [
    ("run", {"name": "drain"}, {}, "drain is due"),
    ("pause", {"name": "drain"}, {"span": "2 h"}, "drain is paused until"),
    ("resume", {"name": "drain"}, {}, "drain is resumed"),
    ("disable", {"name": "prune"}, {}, "prune is off"),
    ("enable", {"name": "prune"}, {}, "prune is on"),
    ("retry", {"backend": "east", "cause": "AccessDenied"}, {}, "68 entries queued again"),
    ("write-off", {"backend": "default", "cause": "ObjectLocked"}, {}, "69 entries written off"),
    ("unblock", {"code": "legal-1"}, {}, "1 row unblocked"),
    ("backend", {"name": "west", "state": "readonly"}, {}, "backend west is readonly"),
    ("enable-policy", {"name": "logins"}, {}, "policy logins is enabled"),
    ("disable-policy", {"name": "access-log"}, {}, "policy access-log is disabled"),
    ("enable-rule", {"name": "large"}, {}, "rule large is enabled"),
    ("disable-rule", {"name": "logs"}, {}, "rule logs is disabled"),
    ("replay", {"name": "pager"}, {}, "12 events queued again"),
    ("enable-webhook", {"name": "pager"}, {}, "webhook pager is enabled"),
]


def test_every_order_says_what_it_would_do_asks_why_and_is_kept_in_the_audit(db: Connection, serve: Serve):
    make_sick(db)
    page = serve("reaper_ops")
    # A policy is enabled by who may delete from the table by hand, too.
    db.execute("grant select, delete, update (at) on public.logins to page_of_reaper_ops")
    assert {name for name, *_ in GIVEN} == ORDERS.keys()
    for name, about, written, said in GIVEN:
        path = f"/order/{name}?{urlencode(about)}"
        shown = page.get(path)
        assert f"reaper.{ORDERS[name].function}()" in shown.text
        assert "how many" in shown.text
        for empty in ("", "  ", "x" * 501):
            assert page.order(path, reason=empty, **written).status_code == 400
        before = value(db, "select coalesce(max(audit_id), 0) from reaper.audit")
        done = page.order(path, reason=REASON, **written)
        assert done.status_code == 303, done.text
        board = page.get(done.headers["location"]).text
        assert said in board.lower()
        # What is asked seldom is asked after an order, too.
        assert ("<b>Paused</b>: " in board) is (name == "pause")
        kept = db.execute("select who, reason from reaper.audit where audit_id > %s", [before]).fetchall()
        assert set(kept) == {("page_of_reaper_ops", REASON)}, name
    # The page after an order shows what the order did, at once and escaped.
    assert "the change &lt;b&gt;4711&lt;/b&gt;" in page.get("/").text
    assert page.order("/order/pause?name=drain", reason="x", span="for ever").status_code == 409
    assert page.order("/order/unblock?code=nothing", reason="x").status_code == 409
    assert page.get("/order/run?name=nothing").status_code == 400
    assert page.get("/order/drop-everything").status_code == 404
    assert value(db, "select enabled from reaper.services where name = 'prune'") is True
    # What is given up after a person has looked is not part of the order.
    path = "/order/write-off?backend=default&cause=Late"
    db.execute(
        "insert into reaper.cleanup_dlq"
        " (queue_id, backend, object_key, attempts, cause, last_error, queued_at, buried_at) values"
        " (1, 'default', 'late', 1, 'Late', 'Late: x', reaper.clock(), reaper.clock() + interval '1 hour')"
    )
    assert page.order(path, reason="x").headers["location"]
    assert value(db, "select count(*) from reaper.cleanup_dlq where cause = 'Late'") == 1


def test_a_login_without_the_right_sees_no_button_and_is_refused(db: Connection, serve: Serve):
    make_sick(db)
    audited = column(db, "select audit_id from reaper.audit order by 1")
    page = serve("reaper_ro")
    board = page.get("/")
    assert board.status_code == 200
    assert "/order/" not in board.text
    assert "Not available" not in board.text
    assert "legal hold" in board.text
    token = page.token()
    for name, about, written, _ in GIVEN:
        assert page.get(f"/order/{name}?{urlencode(about)}").status_code == 403
        fields = {"token": token, "reason": "x", **about, **written}
        assert page.post(f"/order/{name}", fields).status_code == 403
    for path in ("/plan", "/policy/logins", "/lifecycle/logs", "/audit", "/why?subject=p100"):
        assert page.get(path).status_code == 200, path
    assert column(db, "select audit_id from reaper.audit order by 1") == audited
