"""What a worker makes of a NOTIFY: any login can send one."""

import pytest

from reaper.worker.queue_connector import notification_type


@pytest.mark.parametrize(
    "payload",
    [
        *("", "garbage", "null", "7", '"job_inserted"', "[]", "{}", '{"job_id": 1}', "{", "NaN"),
        *("[" * 7_000, "x" * 7_999, '{"type": ["job_inserted"]}', '{"type": {}}', '{"type": null}'),
    ],
)
def test_a_payload_that_procrastinate_did_not_send_says_nothing(payload: str) -> None:
    assert notification_type(payload) not in ("job_inserted", "abort_job_requested")


def test_the_payloads_of_procrastinate_say_what_happened() -> None:
    assert notification_type('{"type": "job_inserted", "job_id": 1}') == "job_inserted"
    assert notification_type('{"type": "abort_job_requested", "job_id": 1}') == "abort_job_requested"
