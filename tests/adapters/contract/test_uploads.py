"""Uploads in parts that are open: listed below the prefix, looked at, given up; the same on each store."""

from datetime import UTC, datetime, timedelta

import pytest

from reaper.errors import UploadAborted
from reaper.model import UploadedParts
from reaper.storage.s3.store import S3Options

PART = 5 << 20


@pytest.fixture
def begin(client, bucket):
    """Begins an upload past the adapter, with so many parts."""

    def begun(key: str, parts: int = 0) -> str:
        upload = client.create_multipart_upload(Bucket=bucket, Key=key)["UploadId"]
        for number in range(1, parts + 1):
            client.upload_part(
                Bucket=bucket, Key=key, UploadId=upload, PartNumber=number, Body=b"x" * (PART + number)
            )
        return str(upload)

    return begun


def test_open_uploads_are_listed_below_the_prefix_and_are_gone_with_their_parts(
    open_store, store, bucket, begin
):
    ours, foreign = begin("ours/a b", parts=2), begin("others/a")
    begin("ours/empty")
    s3 = open_store(bucket, store.endpoint_url, prefix="ours/")
    found = {upload.key: upload for upload in s3.uploads()}
    assert set(found) == {"a b", "empty"}
    upload = found["a b"]
    assert upload.upload_id == ours
    parts = s3.parts(upload)
    assert (parts.number, parts.size) == (2, 2 * PART + 3)
    assert abs(datetime.now(UTC) - parts.last_at) < timedelta(minutes=5)
    assert s3.parts(found["empty"]) == UploadedParts(0, 0, None)
    for _ in range(2):
        s3.abort(upload)
        assert s3.parts(upload) is None
    assert [left.key for left in s3.uploads()] == ["empty"]
    elsewhere = open_store(bucket, store.endpoint_url, prefix="others/")
    assert [left.upload_id for left in elsewhere.uploads()] == [foreign]


def test_the_name_of_an_upload_is_told_before_its_first_part_is_sent(open_store, store, bucket):
    options = S3Options(multipart_threshold=PART, part_size=PART, attempts=1)
    s3 = open_store(bucket, store.endpoint_url, options=options)
    told = []

    def begun(name: str) -> None:
        upload = next(found for found in s3.uploads() if found.upload_id == name)
        told.append((upload.key, s3.parts(upload).number))

    s3.put("small", b"abc", 3, begun)
    s3.put("large", b"0123456789" * (PART // 5), 2 * PART, begun)
    assert told == [("large", 0)]


def test_an_open_upload_is_as_old_as_its_begin(s3, begin, needs):
    needs("ages of uploads")
    begin("key")
    assert abs(datetime.now(UTC) - next(s3.uploads()).begun_at) < timedelta(minutes=5)


def test_a_writer_whose_upload_was_given_up_is_told_and_succeeds_the_second_time(
    open_store, store, bucket, monkeypatch, needs
):
    needs("refusals of parts")
    options = S3Options(multipart_threshold=PART, part_size=PART, attempts=1)
    s3 = open_store(bucket, store.endpoint_url, options=options)
    data = b"0123456789" * (PART // 5)
    put_part = s3._requests.put_part

    def meanwhile_given_up(key, upload, number, body):
        if number == 2:
            for found in s3.uploads():
                s3.abort(found)
        return put_part(key, upload, number, body)

    with monkeypatch.context() as patch:
        patch.setattr(s3._requests, "put_part", meanwhile_given_up)
        with pytest.raises(UploadAborted, match="was aborted before it was complete"):
            s3.put("key", data, len(data))
    assert s3.get("key") is None
    s3.put("key", data, len(data))
    assert s3.get("key") == data
