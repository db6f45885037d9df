"""Objects that are written and read again; the same tests run on each store."""

import hashlib
import io
import random
import tempfile

import pytest

from reaper.model import StoredDigest
from reaper.storage.s3.store import S3Options

MIB = 1 << 20
IN_PARTS = S3Options(multipart_threshold=5 * MIB, part_size=5 * MIB, attempts=1)
TWO_PARTS, THREE_PARTS = 5 * MIB + 1, 10 * MIB + 3


def some_bytes(size):
    """Not the same everywhere, so that parts in the wrong order are noticed."""
    return random.Random(7).randbytes(size)


@pytest.fixture
def in_parts(open_store, store, bucket):
    return open_store(bucket, store.endpoint_url, options=IN_PARTS)


@pytest.mark.parametrize("size", [0, 1, MIB, MIB + 1, 5 * MIB, TWO_PARTS, THREE_PARTS])
def test_what_was_put_is_read_again(in_parts, size):
    data = some_bytes(size)
    in_parts.put("a/b c", data, size)
    assert in_parts.get("a/b c") == data
    assert in_parts.digest("a/b c") == StoredDigest(size, hashlib.sha256(data).hexdigest())


@pytest.mark.parametrize("size", [3, 2 * MIB, TWO_PARTS])
def test_a_file_is_read_from_where_it_stands(in_parts, size):
    with tempfile.SpooledTemporaryFile(max_size=MIB) as file:
        file.write(b"before" + some_bytes(size))
        file.seek(len(b"before"))
        in_parts.put("key", file, size)
    assert in_parts.get("key") == some_bytes(size)


@pytest.mark.parametrize("size", [3, TWO_PARTS])
def test_content_md5_is_accepted_for_what_is_put(open_store, store, bucket, size):
    options = S3Options(multipart_threshold=5 * MIB, part_size=5 * MIB, content_md5=True)
    s3 = open_store(bucket, store.endpoint_url, options=options)
    s3.put("key", some_bytes(size), size)
    assert s3.get("key") == some_bytes(size)


@pytest.mark.parametrize("size", [3, TWO_PARTS])
def test_objects_are_said_to_be_bytes_and_nothing_else(in_parts, client, bucket, size):
    in_parts.put("key", some_bytes(size), size)
    head = client.head_object(Bucket=bucket, Key="key")
    assert (head["ContentType"], head["ContentLength"]) == ("application/octet-stream", size)
    assert "ContentEncoding" not in head


def test_an_absent_object_is_none_and_no_error(s3):
    assert s3.get("absent") is None
    assert s3.digest("absent") is None


@pytest.mark.parametrize("said", [2, 4])
def test_a_body_of_another_size_is_not_sent(s3, keys_in, said):
    with pytest.raises(ValueError, match=f"3 bytes, expected {said}"):
        s3.put("key", io.BytesIO(b"abc"), said)
    assert keys_in() == set()


def test_no_parts_are_left_where_one_of_them_failed(in_parts, client, bucket, monkeypatch, keys_in):
    put_part = in_parts._requests.put_part

    def second_breaks(key, upload, number, body):
        if number == 2:
            raise OSError("the disk is gone")
        return put_part(key, upload, number, body)

    monkeypatch.setattr(in_parts._requests, "put_part", second_breaks)
    with pytest.raises(OSError, match="disk"):
        in_parts.put("key", some_bytes(TWO_PARTS), TWO_PARTS)
    assert "Uploads" not in client.list_multipart_uploads(Bucket=bucket)
    assert keys_in() == set()
