"""docs/notifications.md tells the truth: its examples are those of the schemas, its code verifies."""

import json
import os
import re
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from standardwebhooks.webhooks import WebhookVerificationError

from reaper.model import Endpoint
from reaper.notifications.schema_files import schemas
from reaper.notifications.signing import signed
from tests.support.event_schemas import require_valid
from tests.support.webhook_endpoint import NEW_SECRET, SECRET

PAGE = Path("docs/notifications.md").read_text(encoding="utf-8")
BODY = '{"specversion": "1.0", "data": {"error": "it said “no”"}}'.encode()
# Where `npm install standardwebhooks` was run.
NODE_PATH = os.environ.get("NODE_PATH", "")
ANSWER = """
const { headers, body, secret } = JSON.parse(require("fs").readFileSync(0));
console.log(JSON.stringify(receive(secret, headers, body)));
"""


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def headers(*names: str) -> dict[str, str]:
    variables = {"OLD": SECRET, "NEW": NEW_SECRET}
    return signed(Endpoint("https://example.com/", *names), variables, "an id", datetime.now(UTC), BODY)


def test_the_page_has_a_valid_example_of_every_event() -> None:
    shown: dict[str, Any] = {}
    for block in blocks("json"):
        event = json.loads(block)
        require_valid(event)
        shown[event["type"].removeprefix("io.reaper.")] = event
    assert shown == {kind: schema["examples"][0] for kind, schema in schemas().items()}
    for kind, schema in schemas().items():
        section = PAGE.split(f"### {kind}\n")[1].split("\n### ")[0]
        for name, field in schema["properties"]["data"]["properties"].items():
            assert f"| `{name}` | {field['description']}" in section


def test_the_python_of_the_page_proves_signatures_and_refuses_others() -> None:
    [code] = blocks("python")
    names: dict[str, Any] = {}
    exec(code, names)
    receive = names["receive"]
    assert receive(SECRET, headers("OLD"), BODY) == json.loads(BODY)
    for secret in (SECRET, NEW_SECRET):
        assert receive(secret, headers("NEW", "OLD"), BODY) == json.loads(BODY)
    for wrong in ((NEW_SECRET, headers("OLD"), BODY), (SECRET, headers("OLD"), BODY + b" ")):
        with pytest.raises(WebhookVerificationError):
            receive(*wrong)


@pytest.mark.skipif(
    not (Path(NODE_PATH) / "standardwebhooks").is_dir(),
    reason="NODE_PATH names no folder with standardwebhooks (npm install standardwebhooks)",
)
def test_the_javascript_of_the_page_proves_signatures_and_refuses_others() -> None:
    [code] = blocks("javascript")

    def receive(secret: str, *names: str) -> subprocess.CompletedProcess[str]:
        told = json.dumps({"headers": headers(*names), "body": BODY.decode(), "secret": secret})
        return subprocess.run(["node", "-e", code + ANSWER], input=told, capture_output=True, text=True)

    assert json.loads(receive(SECRET, "OLD").stdout) == json.loads(BODY)
    for secret in (SECRET, NEW_SECRET):
        assert json.loads(receive(secret, "NEW", "OLD").stdout) == json.loads(BODY)
    assert receive(NEW_SECRET, "OLD").returncode != 0
