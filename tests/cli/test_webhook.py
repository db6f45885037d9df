"""`reaper webhook`: endpoints are added, tested, listed, told again and forgotten."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.support.paste_fixtures import Connection, value
from tests.support.webhook_endpoint import NEW_SECRET, SECRET, Said, WebhookEndpoint, always

PRIVATE = {"REAPER_ALLOW_PRIVATE_WEBHOOKS": "true", "CHAT_SECRET": SECRET, "NEXT_SECRET": NEW_SECRET}


@pytest.fixture
def endpoint() -> Iterator[WebhookEndpoint]:
    with WebhookEndpoint() as running:
        yield running


@pytest.fixture
def webhook(bare_run: Run, dsn: str) -> Any:
    """Runs `reaper webhook` with what an operator would set."""
    return lambda *words, **more: bare_run(
        "webhook", *words, **{"REAPER_DATABASE_URL": dsn, **PRIVATE, **more}
    )


def test_a_webhook_is_added_tested_listed_and_removed(webhook: Any, endpoint: WebhookEndpoint) -> None:
    assert webhook("list").out.startswith("no webhooks")
    url = endpoint.url(path="/hooks/xyzzy")
    added = webhook("add", "chat", url, "--event", "circuit.*", "--event", "drain.finished",
                    "--secret-env", "CHAT_SECRET", "--json")  # fmt: skip
    assert (added.code, added.json["events"]) == (0, ["circuit.*", "drain.finished"])

    done = webhook("test", "chat")
    assert done.code == 0
    for words in (
        f"POST {url}",
        "webhook-signature: v1,",
        "io.reaper.webhook.test",
        "answered 204",
        "accepted",
    ):
        assert words in done.out
    assert SECRET not in done.out + done.err
    assert endpoint.heard[0].verified()["data"] == {"webhook": "chat"}

    listed = webhook("list")
    assert (listed.code, "xyzzy" in listed.out) == (0, False)
    assert webhook("list", "--json").json[0]["endpoint"] == f"http://127.0.0.1:{endpoint.port}"
    assert webhook("remove", "chat").code == 0
    assert webhook("list", "--json").json == []


def test_a_test_says_what_went_wrong(webhook: Any, endpoint: WebhookEndpoint) -> None:
    webhook("add", "chat", endpoint.url(), "--event", "*", "--secret-env", "CHAT_SECRET")
    endpoint.script = always(Said(500, body=b"no\x1b[31m luck"))
    failed = webhook("test", "chat")
    assert failed.code == 1
    assert "answered 500 Internal Server Error" in failed.out
    assert "\x1b[31m" not in failed.out
    assert webhook("test", "chat", "--json").json["answer"]["status"] == 500

    missing = webhook("test", "chat", CHAT_SECRET="")
    assert (missing.code, missing.complaint[0]) == (4, "reaper: variable CHAT_SECRET is not set here")
    private = webhook("test", "chat", REAPER_ALLOW_PRIVATE_WEBHOOKS="false")
    assert private.code == 4
    assert "127.0.0.1, which is loopback" in private.complaint[0]
    assert "REAPER_ALLOW_PRIVATE_WEBHOOKS" in private.complaint[1]
    assert webhook("test", "none").code == 4


def test_secrets_are_rotated_and_a_webhook_is_switched(webhook: Any, endpoint: WebhookEndpoint) -> None:
    webhook("add", "chat", endpoint.url(), "--event", "*", "--secret-env", "CHAT_SECRET")
    assert (
        webhook("rotate", "chat", "--secret-env", "NEXT_SECRET", "--json").json["secret_env"] == "NEXT_SECRET"
    )
    webhook("test", "chat")
    assert endpoint.heard[-1].verified(SECRET) == endpoint.heard[-1].verified(NEW_SECRET)
    webhook("rotate", "chat", "--secret-env", "NEXT_SECRET", "--drop-old")
    webhook("test", "chat")
    assert " " not in endpoint.heard[-1].headers["webhook-signature"]
    assert webhook("disable", "chat", "--reason", "moving").code == 0
    assert "disabled: moving" in webhook("list").out
    assert webhook("enable", "chat", "--json").json["enabled"]


def test_events_are_replayed_by_time_or_id(webhook: Any, endpoint: WebhookEndpoint, db: Connection) -> None:
    webhook("add", "chat", endpoint.url(), "--event", "*")
    db.execute("select reaper_internal.emit('webhook.test', null, '{}') from generate_series(1, 3)")
    assert "3 events not delivered would be dropped" in webhook("remove", "chat").out
    db.execute("update reaper.notification_outbox set delivered_at = reaper.clock()")
    event = value(db, "select event_id from reaper.notification_outbox limit 1")
    assert webhook("replay", "chat", "--id", str(event)).out.startswith("1 event queued")
    today = datetime.now(UTC).date().isoformat()
    assert webhook("replay", "chat", "--since", today, "--json").json["queued"] == 2
    assert webhook("replay", "chat", "--dlq").out.startswith("0 events queued")
    assert webhook("replay", "chat").code == 2
    assert webhook("replay", "chat", "--since", "yesterday").code == 2


def test_a_webhook_that_cannot_be_is_refused_with_the_reason(webhook: Any) -> None:
    refused = webhook("add", "chat", "https://me:hush@example.com/", "--event", "*")
    assert refused.code == 4
    assert "user name or password" in refused.complaint[0]
    assert "hush" not in refused.err
    unknown = webhook("add", "chat", "https://example.com/", "--event", "drain.ended")
    assert "unknown events: drain.ended" in unknown.complaint[0]
    assert "drain.finished" in unknown.complaint[1]
