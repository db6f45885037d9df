"""A small, honest S3 in memory: what the scripted server does when no fault is asked for."""

import base64
import bisect
import dataclasses
import hashlib
import itertools
import threading
import zlib
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Self
from urllib.parse import parse_qsl, quote, unquote
from xml.etree import ElementTree
from xml.sax import saxutils

MOST_KEYS = 1000
SMALLEST_PART = 5 << 20


@dataclasses.dataclass(frozen=True)
class Request:
    """A request: what it wants, of which bucket and keys, and how it was sent."""

    operation: str
    method: str
    bucket: str
    key: str
    keys: tuple[str, ...]
    query: dict[str, str]
    headers: dict[str, str]
    quiet: bool = False

    @classmethod
    def read(cls, method: str, target: str, headers: dict[str, str], body: bytes) -> Self:
        """Understand a request as S3 does, with the bucket in the path."""
        path, _, query = target.partition("?")
        bucket, _, key = unquote(path).removeprefix("/").partition("/")
        asked = dict(parse_qsl(query, keep_blank_values=True))
        operation = _operation(method, bool(key), asked)
        keys, quiet = _named(body) if operation == "delete_objects" else ((key,) if key else (), False)
        return cls(operation, method, bucket, key, keys, asked, headers, quiet)

    @property
    def deletes(self) -> bool:
        """Whether objects go if this is done."""
        return self.operation in ("delete_object", "delete_objects")


@dataclasses.dataclass(frozen=True)
class Reply:
    """What goes back; no status means that the connection is reset. `done`: after doing what was asked."""

    status: int | None
    body: str | bytes = ""
    headers: dict[str, str] = dataclasses.field(default_factory=dict)
    done: bool = False

    @property
    def sent(self) -> bytes:
        """The body as it goes over the line."""
        return self.body.encode() if isinstance(self.body, str) else self.body


LOST = Reply(None, done=True)


def escape(text: str) -> str:
    """For XML, in which an unescaped carriage return would be read as a line feed."""
    return saxutils.escape(text, {"\r": "&#13;"})


def deleted(*keys: str) -> str:
    return "".join(f"<Deleted><Key>{escape(key)}</Key></Deleted>" for key in keys)


def refused(key: str, code: str, message: str = "so it is") -> str:
    return f"<Error><Key>{escape(key)}</Key><Code>{code}</Code><Message>{message}</Message></Error>"


def result(*parts: str) -> Reply:
    return Reply(200, f"<DeleteResult>{''.join(parts)}</DeleteResult>")


def error(status: int, code: str, message: str = "so it is") -> Reply:
    return Reply(status, f"<Error><Code>{code}</Code><Message>{message}</Message></Error>")


def all_deleted(asked: Request) -> Reply:
    """The answer to a deletion that succeeds, whether or not there was anything to delete."""
    if asked.method == "DELETE":
        return Reply(204)
    return result() if asked.quiet else result(deleted(*asked.keys))


@dataclasses.dataclass
class Stored:
    """An object, and what its writer said about it."""

    data: bytes
    kind: str
    crc32: str | None = None
    sha256: str | None = None
    said: dict[str, str] = dataclasses.field(default_factory=dict)

    @property
    def etag(self) -> str:
        return f'"{hashlib.md5(self.data, usedforsecurity=False).hexdigest()}"'


class Bucket:
    """Objects by key, in the byte order of their keys, and uploads in parts that wait to be joined."""

    def __init__(self) -> None:
        self.objects: dict[bytes, Stored] = {}
        self.uploads: dict[str, tuple[str, str, dict[int, bytes], dict[str, str]]] = {}
        # Of each open upload: when it began, and when each part came.
        self.began: dict[str, datetime] = {}
        self.came: dict[tuple[str, int], datetime] = {}
        self._order: list[bytes] = []

    def put(self, key: str, stored: Stored) -> None:
        name = key.encode()
        if name not in self.objects:
            bisect.insort(self._order, name)
        self.objects[name] = stored

    def drop(self, key: str) -> None:
        name = key.encode()
        if self.objects.pop(name, None) is not None:
            del self._order[bisect.bisect_left(self._order, name)]

    def behind(self, after: str, prefix: str) -> Iterator[tuple[str, Stored]]:
        begin = prefix.encode()
        first = max(
            bisect.bisect_right(self._order, after.encode()) if after else 0,
            bisect.bisect_left(self._order, begin),
        )
        for name in itertools.islice(self._order, first, None):
            if not name.startswith(begin):
                return
            yield name.decode(), self.objects[name]


class Buckets:
    """All buckets; any number of threads may ask at once. Told of none, it has every bucket that is named."""

    def __init__(self, *buckets: str) -> None:
        self.buckets = {name: Bucket() for name in buckets}
        self._has_all = not buckets
        self._lock = threading.RLock()
        self._numbers = itertools.count(1)

    def answer(self, asked: Request, body: bytes) -> Reply:
        """Do what is asked, and say what a good S3 says."""
        with self._lock:
            if self._has_all or asked.operation == "create_bucket":
                self.buckets.setdefault(asked.bucket, Bucket())
            bucket = self.buckets.get(asked.bucket)
            if bucket is None:
                return error(404, "NoSuchBucket")
            do: Callable[[Bucket, Request, bytes], Reply] | None = getattr(self, f"_{asked.operation}", None)
            return do(bucket, asked, body) if do else error(501, "NotImplemented")

    def keys(self, bucket: str) -> set[str]:
        """What is there, for a judge."""
        with self._lock:
            return {name.decode() for name in self.buckets[bucket].objects}

    def data(self, bucket: str, key: str) -> bytes | None:
        """The bytes of an object, for a judge."""
        with self._lock:
            stored = self.buckets[bucket].objects.get(key.encode())
            return stored.data if stored else None

    def contents(self, bucket: str) -> dict[str, bytes]:
        """What is there, with its bytes, for a judge."""
        with self._lock:
            return {name.decode(): stored.data for name, stored in self.buckets[bucket].objects.items()}

    def add(self, bucket: str) -> None:
        """One more bucket, empty unless it is there."""
        with self._lock:
            self.buckets.setdefault(bucket, Bucket())

    def put(self, bucket: str, key: str, data: bytes) -> None:
        """Put an object there without asking over the line."""
        with self._lock:
            self.buckets[bucket].put(key, Stored(data, ""))

    def drop(self, bucket: str, key: str) -> None:
        """Take an object away without asking over the line."""
        with self._lock:
            self.buckets[bucket].drop(key)

    def _create_bucket(self, _bucket: Bucket, _asked: Request, _body: bytes) -> Reply:
        return Reply(200)

    def _delete_bucket(self, bucket: Bucket, asked: Request, _body: bytes) -> Reply:
        if bucket.objects:
            return error(409, "BucketNotEmpty")
        del self.buckets[asked.bucket]
        return Reply(204)

    def _get_bucket_versioning(self, _bucket: Bucket, _asked: Request, _body: bytes) -> Reply:
        return Reply(200, "<VersioningConfiguration/>")

    def _put_object(self, bucket: Bucket, asked: Request, body: bytes) -> Reply:
        if not _is_whole(asked, body):
            return error(400, "BadDigest")
        if asked.headers.get("if-none-match") == "*" and asked.key.encode() in bucket.objects:
            return error(412, "PreconditionFailed")
        if source := self._source(asked):
            data, kind = source.data, source.kind
            bucket.put(asked.key, Stored(data, kind, source.crc32, source.sha256, source.said))
            return Reply(200, f"<CopyObjectResult><ETag>{escape(source.etag)}</ETag></CopyObjectResult>")
        if asked.headers.get("x-amz-copy-source"):
            return error(404, "NoSuchKey")
        stored = Stored(
            body,
            asked.headers.get("content-type", ""),
            asked.headers.get("x-amz-checksum-crc32"),
            asked.headers.get("x-amz-checksum-sha256"),
            _said(asked),
        )
        bucket.put(asked.key, stored)
        return Reply(200, headers={"ETag": stored.etag})

    def _get_object(self, bucket: Bucket, asked: Request, _body: bytes) -> Reply:
        stored = bucket.objects.get(asked.key.encode())
        if stored is None:
            return error(404, "NoSuchKey")
        headers = {"ETag": stored.etag, "Content-Type": stored.kind, **stored.said}
        if asked.headers.get("if-match", stored.etag) != stored.etag:
            return error(412, "PreconditionFailed")
        if wanted := asked.headers.get("range"):
            return _part(stored.data, wanted, headers)
        if stored.crc32:
            headers["x-amz-checksum-crc32"] = stored.crc32
        if stored.sha256:
            headers["x-amz-checksum-sha256"] = stored.sha256
        return Reply(200, stored.data, headers)

    _head_object = _get_object

    def _delete_object(self, bucket: Bucket, asked: Request, _body: bytes) -> Reply:
        bucket.drop(asked.key)
        return all_deleted(asked)

    def _delete_objects(self, bucket: Bucket, asked: Request, body: bytes) -> Reply:
        if not _is_whole(asked, body):
            return error(400, "BadDigest")
        if not 0 < len(asked.keys) <= MOST_KEYS or "" in asked.keys:
            return error(400, "MalformedXML")
        for key in asked.keys:
            bucket.drop(key)
        return all_deleted(asked)

    def _list_objects_v2(self, bucket: Bucket, asked: Request, _body: bytes) -> Reply:
        most = min(int(asked.query.get("max-keys", MOST_KEYS)), MOST_KEYS)
        after = asked.query.get("continuation-token") or asked.query.get("start-after", "")
        found = list(itertools.islice(bucket.behind(after, asked.query.get("prefix", "")), most + 1))
        page, more = found[:most], len(found) > most
        token = f"<NextContinuationToken>{escape(page[-1][0])}</NextContinuationToken>" if more else ""
        contents = "".join(
            f"<Contents><Key>{quote(key)}</Key><Size>{len(stored.data)}</Size></Contents>"
            for key, stored in page
        )
        return Reply(
            200,
            f"<ListBucketResult><EncodingType>url</EncodingType><IsTruncated>{str(more).lower()}</IsTruncated>"
            f"{token}{contents}</ListBucketResult>",
        )

    def _create_multipart_upload(self, bucket: Bucket, asked: Request, _body: bytes) -> Reply:
        upload = f"upload-{next(self._numbers)}"
        bucket.uploads[upload] = (asked.key, asked.headers.get("content-type", ""), {}, _said(asked))
        bucket.began[upload] = datetime.now(UTC)
        return Reply(
            200,
            f"<InitiateMultipartUploadResult><UploadId>{upload}</UploadId></InitiateMultipartUploadResult>",
        )

    def _upload_part(self, bucket: Bucket, asked: Request, body: bytes) -> Reply:
        upload = bucket.uploads.get(asked.query["uploadId"])
        if upload is None:
            return error(404, "NoSuchUpload")
        if not _is_whole(asked, body):
            return error(400, "BadDigest")
        if asked.headers.get("x-amz-copy-source"):
            return self._copy_part(upload[2], asked)
        upload[2][int(asked.query["partNumber"])] = body
        bucket.came[asked.query["uploadId"], int(asked.query["partNumber"])] = datetime.now(UTC)
        headers = {"ETag": Stored(body, "").etag}
        if crc32 := asked.headers.get("x-amz-checksum-crc32"):
            headers["x-amz-checksum-crc32"] = crc32
        return Reply(200, headers=headers)

    def _source(self, asked: Request) -> Stored | None:
        """The object that is to be copied."""
        named = unquote(asked.headers.get("x-amz-copy-source", ""))
        bucket, _, key = named.removeprefix("/").partition("/")
        return self.buckets[bucket].objects.get(key.encode()) if bucket in self.buckets else None

    def _copy_part(self, parts: dict[int, bytes], asked: Request) -> Reply:
        source = self._source(asked)
        if source is None:
            return error(404, "NoSuchKey")
        data = _part(source.data, asked.headers["x-amz-copy-source-range"], {}).sent
        parts[int(asked.query["partNumber"])] = data
        return Reply(200, f"<CopyPartResult><ETag>{escape(Stored(data, '').etag)}</ETag></CopyPartResult>")

    def _complete_multipart_upload(self, bucket: Bucket, asked: Request, body: bytes) -> Reply:
        upload = bucket.uploads.get(asked.query["uploadId"])
        if upload is None:
            return error(404, "NoSuchUpload")
        key, kind, parts, said = upload
        numbers = [int(found) for found in _texts(body, "PartNumber")]
        if numbers != sorted(parts):
            return error(400, "InvalidPart")
        if any(len(parts[number]) < SMALLEST_PART for number in numbers[:-1]):
            return error(400, "EntityTooSmall")
        del bucket.uploads[asked.query["uploadId"]]
        bucket.put(key, Stored(b"".join(parts[number] for number in numbers), kind, said=said))
        return Reply(
            200, "<CompleteMultipartUploadResult><ETag>joined</ETag></CompleteMultipartUploadResult>"
        )

    def _abort_multipart_upload(self, bucket: Bucket, asked: Request, _body: bytes) -> Reply:
        gone = bucket.uploads.pop(asked.query["uploadId"], None)
        return Reply(204) if gone else error(404, "NoSuchUpload")

    def _list_multipart_uploads(self, bucket: Bucket, asked: Request, _body: bytes) -> Reply:
        uploads = "".join(
            f"<Upload><Key>{escape(upload[0])}</Key><UploadId>{name}</UploadId>"
            f"<Initiated>{bucket.began[name].isoformat()}</Initiated></Upload>"
            for name, upload in bucket.uploads.items()
            if upload[0].startswith(asked.query.get("prefix", ""))
        )
        return Reply(200, f"<ListMultipartUploadsResult>{uploads}</ListMultipartUploadsResult>")

    def _list_parts(self, bucket: Bucket, asked: Request, _body: bytes) -> Reply:
        name = asked.query["uploadId"]
        if name not in bucket.uploads:
            return error(404, "NoSuchUpload")
        parts = "".join(
            f"<Part><PartNumber>{number}</PartNumber><Size>{len(body)}</Size>"
            f"<LastModified>{bucket.came[name, number].isoformat()}</LastModified></Part>"
            for number, body in sorted(bucket.uploads[name][2].items())
        )
        return Reply(200, f"<ListPartsResult>{parts}</ListPartsResult>")


def _operation(method: str, has_key: bool, query: dict[str, str]) -> str:
    """The name that boto3 gives to such a request."""
    of_key = {"GET": "get_object", "HEAD": "head_object", "PUT": "put_object", "DELETE": "delete_object"}
    of_upload = {
        "GET": "list_parts",
        "PUT": "upload_part",
        "POST": "complete_multipart_upload",
        "DELETE": "abort_multipart_upload",
    }
    of_bucket = {"PUT": "create_bucket", "DELETE": "delete_bucket", "HEAD": "head_bucket"}
    if has_key:
        if "uploadId" in query:
            return of_upload[method]
        return "create_multipart_upload" if "uploads" in query else of_key[method]
    for sign, operation in (
        ("delete", "delete_objects"),
        ("versioning", "get_bucket_versioning" if method == "GET" else "put_bucket_versioning"),
        ("versions", "list_object_versions"),
        ("uploads", "list_multipart_uploads"),
        ("object-lock", "put_object_lock_configuration"),
    ):
        if sign in query:
            return operation
    return of_bucket.get(method, "list_objects_v2")


def _said(asked: Request) -> dict[str, str]:
    """What the writer of an object said about it, besides its type."""
    return {
        name: value
        for name, value in asked.headers.items()
        if name.startswith("x-amz-meta-") or name in ("content-encoding", "cache-control")
    }


def _named(body: bytes) -> tuple[tuple[str, ...], bool]:
    return tuple(_texts(body, "Key")), _texts(body, "Quiet") == ["true"]


def _texts(body: bytes, name: str) -> list[str]:
    root = ElementTree.fromstring(body)
    return [found.text or "" for found in root.iter() if found.tag.rpartition("}")[2] == name]


def _part(data: bytes, wanted: str, headers: dict[str, str]) -> Reply:
    first, _, last = wanted.removeprefix("bytes=").partition("-")
    start, end = int(first), min(int(last) + 1, len(data))
    if start >= len(data):
        return error(416, "InvalidRange")
    return Reply(206, data[start:end], {**headers, "Content-Range": f"bytes {start}-{end - 1}/{len(data)}"})


def _is_whole(asked: Request, body: bytes) -> bool:
    crc32 = base64.b64encode(zlib.crc32(body).to_bytes(4, "big")).decode()
    md5 = base64.b64encode(hashlib.md5(body, usedforsecurity=False).digest()).decode()
    sha256 = base64.b64encode(hashlib.sha256(body).digest()).decode()
    headers = asked.headers
    return (
        headers.get("x-amz-checksum-crc32", crc32) == crc32
        and headers.get("x-amz-checksum-sha256", sha256) == sha256
        and headers.get("content-md5", md5) == md5
    )
