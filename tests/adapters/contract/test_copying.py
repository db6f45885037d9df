"""Objects that are streamed from one bucket to another; the same tests run on each store."""

import hashlib
import random

import pytest

from reaper.errors import ReaperError
from reaper.ports import Reading
from reaper.storage.copying import CORRUPT, MISSING, Copying, Expected, SourceFailed
from reaper.storage.request_gate import AdmissionGate
from reaper.storage.s3 import transfers
from reaper.storage.s3.store import S3Options

MIB = 1 << 20
SMALL_PIECES = 5 * MIB
LARGE = 11 * MIB + 3
ODD_KEYS = ["a", "aa/bb/c+d%&=?#~'()*! x", "aa/\u00fc\u4e2d\U0001f600", "aa/line\u0085end"]


def some_bytes(size):
    return random.Random(size).randbytes(size)


def sha256(data):
    return hashlib.sha256(data).hexdigest()


@pytest.fixture(autouse=True)
def _smaller_pieces(monkeypatch):
    """The smallest parts that S3 takes."""
    monkeypatch.setattr(transfers, "PIECE", SMALL_PIECES)
    monkeypatch.setattr(transfers, "SERVER_PIECE", SMALL_PIECES)


@pytest.fixture
def one_slot():
    """A gate that two requests at once would wait at for ever."""
    return AdmissionGate(1)


@pytest.fixture
def source(open_store, store, bucket, one_slot):
    return open_store(bucket, store.endpoint_url, gate=one_slot, prefix="from/")


@pytest.fixture
def stranger(open_store, store, client, bucket, one_slot):
    """A bucket that its server cannot copy to, as far as reaper knows: another login."""
    client.create_bucket(Bucket=f"{bucket}-2")
    login = (store.access_key, store.secret_key)
    return open_store(
        f"{bucket}-2", store.endpoint_url, gate=one_slot, options=S3Options(login=login, attempts=1)
    )


@pytest.fixture
def neighbour(open_store, store, client, bucket, one_slot):
    client.create_bucket(Bucket=f"{bucket}-3")
    return open_store(f"{bucket}-3", store.endpoint_url, gate=one_slot, prefix="to/")


def copy(source, source_key, destination, key, data, begun=lambda _: None, verify=True, digest=True):
    expected = Expected(len(data), sha256(data) if digest else None)
    return Copying(source, source_key, destination, key, expected, verify, begun).run()


@pytest.mark.slow(but=3)
@pytest.mark.parametrize("size", [0, 1, 5 * MIB, LARGE])
def test_an_object_is_copied_through_here_or_by_the_server(source, stranger, neighbour, size):
    data, uploads = some_bytes(size), []
    source.put("a/b/c", data, size)
    for destination in (stranger, neighbour):
        copied = copy(source, "a/b/c", destination, "d/e/f", data, uploads.append)
        assert destination.get("d/e/f") == data
        assert (copied.size, copied.verified) == (size, True)
    assert len(uploads) == (2 if size > SMALL_PIECES else 0)


@pytest.mark.parametrize("size", [3, LARGE])
def test_what_an_application_said_of_its_object_goes_with_it(
    source, stranger, neighbour, client, bucket, size
):
    data = some_bytes(size)
    client.put_object(
        Bucket=bucket,
        Key="from/key",
        Body=data,
        ContentType="text/plain; charset=utf-8",
        ContentEncoding="gzip",
        CacheControl="max-age=60",
        Metadata={"who": "an  application", "why": "so"},
    )
    for destination, key in ((stranger, "d"), (neighbour, "to/d")):
        assert copy(source, "key", destination, "d", data).verified
        head = client.head_object(Bucket=destination.bucket, Key=key)
        assert head["ContentType"] == "text/plain; charset=utf-8"
        assert head["ContentEncoding"] == "gzip"
        assert head["CacheControl"] == "max-age=60"
        assert head["Metadata"]["why"] == "so"
        assert head["Metadata"]["who"].split() == ["an", "application"]


@pytest.mark.slow(but=6)
@pytest.mark.parametrize("key", ODD_KEYS)
def test_odd_keys_are_read_written_and_looked_at(source, stranger, neighbour, key):
    data = b"odd"
    source.put(key, data, 3)
    assert (source.head(key).size, source.head("absent")) == (3, None)
    for destination in (stranger, neighbour):
        assert copy(source, key, destination, key, data).verified
        assert destination.get(key) == data


def test_what_is_not_there_or_is_other_bytes_is_told_apart(source, stranger, neighbour):
    source.put("key", b"abc", 3)
    for destination in (stranger, neighbour):
        with pytest.raises(SourceFailed) as missing:
            copy(source, "no", destination, "d", b"abc")
        with pytest.raises(SourceFailed) as short:
            copy(source, "key", destination, "d", b"abcd")
        with pytest.raises(SourceFailed) as other:
            copy(source, "key", destination, "d", b"abd")
        assert [f.value.trouble for f in (missing, short, other)] == [MISSING, CORRUPT, CORRUPT]
    assert stranger.find(["d"]) == {}
    with pytest.raises(SourceFailed):
        copy(source, "key", stranger, "d", some_bytes(LARGE))


def test_parts_whose_source_turns_out_corrupt_are_given_up(source, stranger, client, bucket):
    data = some_bytes(LARGE)
    source.put("key", data[:-1] + b"x", LARGE)
    with pytest.raises(SourceFailed, match="SHA-256"):
        copy(source, "key", stranger, "d", data)
    assert "Uploads" not in client.list_multipart_uploads(Bucket=f"{bucket}-2")
    assert stranger.find(["d"]) == {}


def test_without_a_known_digest_only_the_size_counts(source, stranger):
    source.put("key", b"abc", 3)
    assert copy(source, "key", stranger, "d", b"xyz", digest=False).sha256 == sha256(b"abc")
    expected = Expected(None, None)
    assert Copying(source, "key", stranger, "e", expected, True, print).run().size == 3


def test_a_store_is_believed_only_if_it_refuses_wrong_checksums(stranger):
    """A put that was compared needs no second look; moto, that compares nothing, gets one."""
    believed = stranger.write("k", Reading(3, iter([b"abc"])), print)
    assert stranger.get("k") == b"abc"
    assert stranger.find([transfers.TRIAL_KEY]) == {}
    head = stranger.head("k")
    assert head.sha256 in ((sha256(b"abc"), None) if believed else (None,))


def test_a_copy_to_a_bucket_that_is_not_there_is_an_error_of_the_destination(source, open_store, store):
    source.put("key", b"abc", 3)
    nowhere = open_store("no-such-bucket", store.endpoint_url)
    with pytest.raises(ReaperError):
        copy(source, "key", nowhere, "d", b"abc")
