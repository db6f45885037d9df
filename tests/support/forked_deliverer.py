"""A process that delivers events over HTTP, again and again, until it is killed."""

import threading

from reaper.errors import ReaperError
from reaper.notifications.sender import HttpWebhooks
from tests.support.webhook_endpoint import SECRET
from tests.support.wiring import Wiring

PAUSE = 0.02


def http() -> HttpWebhooks:
    """What sends to this machine; the secret is in HOOK_SECRET."""
    return HttpWebhooks({"HOOK_SECRET": SECRET}, allow_private=True)


def main(wiring: Wiring) -> None:
    """Deliver; a server that is away is asked again."""
    ended = threading.Event()
    while not ended.wait(PAUSE):
        try:
            with wiring.app(parts={"webhooks": http()}) as app:
                app.runner_by_hand().run_service("notifications")
        except ReaperError:
            continue
