"""One bucket, request by request: what the rest of the adapter says to S3, and nothing of what it means."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from botocore.exceptions import ClientError

from reaper.storage.request_gate import AdmissionGate
from reaper.storage.s3 import delete_objects_xml, errors, object_headers
from reaper.storage.s3.client import S3Options, open_client
from reaper.storage.s3.errors import Kind
from reaper.storage.s3.payload import Body, crc32, md5
from reaper.storage.s3.request_counter import RequestCounter
from reaper.storage.usage_meter import BackendMeter
from reaper.telemetry import spans

if TYPE_CHECKING:
    from botocore.awsrequest import AWSRequest
    from botocore.response import StreamingBody
    from mypy_boto3_s3.client import S3Client
    from mypy_boto3_s3.type_defs import (
        CompletedPartTypeDef,
        CreateMultipartUploadRequestTypeDef,
        DeleteObjectsOutputTypeDef,
        ObjectIdentifierTypeDef,
        PaginatorConfigTypeDef,
        PutObjectRequestTypeDef,
        UploadPartRequestTypeDef,
    )

P = TypeVar("P")

BINARY = "application/octet-stream"
_NOTHING_SAID: Mapping[str, str] = MappingProxyType({})


class Entry(NamedTuple):
    """What is deleted: a key, or one version of it."""

    key: str
    version: str | None = None


class Bucket:
    """The requests, and what was learnt about the store; several threads may share it.

    Every request holds a slot of the gate until its answer is read; no two are made within one slot.
    """

    def __init__(
        self,
        name: str,
        endpoint_url: str | None,
        options: S3Options,
        gate: AdmissionGate,
        meter: BackendMeter | None = None,
    ) -> None:
        self.name = name
        self.backend = options.backend
        self._gate = gate
        self.single_deletes = options.single_deletes
        self.content_md5 = options.content_md5
        self._paging: PaginatorConfigTypeDef = {"PageSize": options.page_size}
        self._versioned: bool | None = None
        self.note: str | None = None
        self._client = open_client(endpoint_url, options, gate.limit)
        self.meter = meter
        self._counter = RequestCounter(meter) if meter else None
        if self._counter:
            self._counter.listen(self._client.meta.events)
        spans.trace_requests(self._client, name, options.backend)
        delete_objects_xml.install(self._client.meta.events)
        self._client.meta.events.register_last("before-sign.s3.DeleteObjects", self._add_md5)

    @contextmanager
    def asking(self) -> Iterator[S3Client]:
        """The client, for one request."""
        with self._gate:
            yield self._client

    @property
    def client(self) -> S3Client:
        """The client, to ask it what needs no request."""
        return self._client

    def delete_together(self, entries: Sequence[Entry]) -> DeleteObjectsOutputTypeDef:
        """Ask for up to 1000 entries at once; the reply names each."""
        with self._gate:
            return self._client.delete_objects(
                Bucket=self.name,
                Delete={"Objects": [_identifier(entry) for entry in entries], "Quiet": False},
            )

    def delete_one(self, entry: Entry) -> bool:
        """Ask for a single entry; whether that left a delete marker behind."""
        with self._gate:
            if entry.version:
                reply = self._client.delete_object(Bucket=self.name, Key=entry.key, VersionId=entry.version)
            else:
                reply = self._client.delete_object(Bucket=self.name, Key=entry.key)
        return bool(reply.get("DeleteMarker"))

    def versions_of(self, key: str) -> list[Entry]:
        """Every version and every delete marker of exactly this key."""
        found: list[Entry] = []
        pages = self._client.get_paginator("list_object_versions").paginate(
            Bucket=self.name, Prefix=key, PaginationConfig=self._paging
        )
        for page in self._one_by_one(pages):
            versions = [*page.get("Versions", ()), *page.get("DeleteMarkers", ())]
            found += [Entry(key, v.get("VersionId", "null")) for v in versions if v["Key"] == key]
            # The key itself comes before all others that begin with it.
            if page.get("NextKeyMarker", "").encode() > key.encode():
                break
        return found

    def pages(self, after: str, prefix: str = "") -> Iterator[Sequence[Any]]:
        """The objects below the prefix and behind `after`, page by page."""
        pages = self._client.get_paginator("list_objects_v2").paginate(
            Bucket=self.name, Prefix=prefix, StartAfter=after, PaginationConfig=self._paging
        )
        for page in self._one_by_one(pages):
            yield page.get("Contents", ())

    def find(self, key: str) -> int | None:
        """The size of exactly this object, or None; listed, because HEAD needs the right to read."""
        with self._gate:
            page = self._client.list_objects_v2(Bucket=self.name, Prefix=key, MaxKeys=1)
        # The key itself comes before all others that begin with it.
        return next((found["Size"] for found in page.get("Contents", ()) if found["Key"] == key), None)

    def put(self, key: str, body: Body, headers: Mapping[str, str] = _NOTHING_SAID) -> None:
        """Write an object, with what is to be said about it."""
        request: PutObjectRequestTypeDef = {
            "Bucket": self.name,
            "Key": key,
            "Body": body,
            "ContentType": BINARY,
            **object_headers.parameters(headers),  # type: ignore[typeddict-item]
        }
        self._add_checksum(request, body)
        with self._gate:
            self._client.put_object(**request)

    def put_new(self, key: str, body: bytes) -> None:
        """Write an object on the condition that there is none; a store may not know that condition."""
        request: PutObjectRequestTypeDef = {
            "Bucket": self.name,
            "Key": key,
            "Body": body,
            "ContentType": BINARY,
            "IfNoneMatch": "*",
        }
        self._add_checksum(request, body)
        with self._gate:
            self._client.put_object(**request)

    def begin_parts(self, key: str, headers: Mapping[str, str] = _NOTHING_SAID) -> str:
        """Begin to write an object in parts; the name under which they wait to be joined."""
        request: CreateMultipartUploadRequestTypeDef = {
            "Bucket": self.name,
            "Key": key,
            "ContentType": BINARY,
            **object_headers.parameters(headers),  # type: ignore[typeddict-item]
        }
        if not self.content_md5:
            request["ChecksumAlgorithm"] = "CRC32"
        with self._gate:
            return self._client.create_multipart_upload(**request)["UploadId"]

    def put_part(self, key: str, upload: str, number: int, body: Body) -> CompletedPartTypeDef:
        """Write a part; what join_parts wants to know of it."""
        request: UploadPartRequestTypeDef = {
            "Bucket": self.name,
            "Key": key,
            "UploadId": upload,
            "PartNumber": number,
            "Body": body,
        }
        self._add_checksum(request, body)
        with self._gate:
            reply = self._client.upload_part(**request)
        part: CompletedPartTypeDef = {"PartNumber": number, "ETag": reply["ETag"]}
        # Where the store keeps checksums of parts it wants them again; others may not know the word.
        if reply.get("ChecksumCRC32"):
            part["ChecksumCRC32"] = reply["ChecksumCRC32"]
        return part

    def join_parts(self, key: str, upload: str, parts: Sequence[CompletedPartTypeDef]) -> None:
        """Make the parts an object."""
        with self._gate:
            self._client.complete_multipart_upload(
                Bucket=self.name, Key=key, UploadId=upload, MultipartUpload={"Parts": parts}
            )

    def drop_parts(self, key: str, upload: str) -> None:
        """Give up an object that was begun in parts."""
        with self._gate:
            self._client.abort_multipart_upload(Bucket=self.name, Key=key, UploadId=upload)

    def open_uploads(self, prefix: str) -> Iterator[Sequence[Any]]:
        """The uploads in parts below the prefix that are open, page by page."""
        pages = self._client.get_paginator("list_multipart_uploads").paginate(
            Bucket=self.name, Prefix=prefix, PaginationConfig=self._paging
        )
        for page in self._one_by_one(pages):
            yield page.get("Uploads", ())

    def parts(self, key: str, upload: str) -> Iterator[Sequence[Any]]:
        """The parts of an open upload, page by page."""
        pages = self._client.get_paginator("list_parts").paginate(
            Bucket=self.name, Key=key, UploadId=upload, PaginationConfig=self._paging
        )
        for page in self._one_by_one(pages):
            yield page.get("Parts", ())

    @contextmanager
    def reading(self, key: str) -> Iterator[StreamingBody | None]:
        """The object's bytes as they arrive, or None if the store says that there is no such object."""
        with self._gate:
            try:
                body = self._client.get_object(Bucket=self.name, Key=key)["Body"]
            except ClientError as error:
                if not errors.says_absent(error):
                    raise
                yield None
            else:
                with self.streaming(body):
                    yield body

    @contextmanager
    def streaming(self, body: StreamingBody) -> Iterator[StreamingBody]:
        """The body of an answer as it arrives; the request counts at the end, with what was read of it."""
        try:
            with closing(body):
                yield body
        finally:
            if self._counter:
                self._counter.read(body)

    def create(self) -> None:
        """Make the bucket."""
        with self._gate:
            self._client.create_bucket(Bucket=self.name)

    def look(self, prefix: str = "") -> None:
        """Ask for one key below the prefix; unlike HEAD, a refusal then says why."""
        with self._gate:
            self._client.list_objects_v2(Bucket=self.name, Prefix=prefix, MaxKeys=1)

    def is_versioned(self) -> bool:
        """Whether a plain delete would only hide the bytes; asked until the store has answered once."""
        if self._versioned is None:
            self._versioned = self._ask_versioning()
        return self._versioned

    @property
    def knows_versions(self) -> bool:
        """What is_versioned() said last."""
        return bool(self._versioned)

    def turned_out_versioned(self) -> None:
        """A plain delete left a delete marker behind."""
        self._versioned = True

    def close(self) -> None:
        """Give the connections up."""
        self._client.close()

    def _ask_versioning(self) -> bool:
        try:
            with self._gate:
                return "Status" in self._client.get_bucket_versioning(Bucket=self.name)
        except ClientError as error:
            refusal = errors.of_key(error)
            if refusal.kind is not Kind.FOR_GOOD:
                raise
            # Harmless if wrong: the first delete marker in a reply tells the truth.
            self.note = f"versioning could not be read ({refusal.reason}); assumed to be off"
            return False

    def _one_by_one(self, pages: Iterable[P]) -> Iterator[P]:
        """A slot for each page's request, none while the caller looks at the page."""
        coming = iter(pages)
        while True:
            with self._gate:
                page = next(coming, None)
            if page is None:
                return
            yield page

    def _add_md5(self, request: AWSRequest, **_: object) -> None:
        """Replace the CRC32, which older stores refuse, by what they ask for."""
        if not self.content_md5:
            return
        for header in [
            name for name in request.headers if name.lower().startswith(("x-amz-checksum-", "x-amz-sdk-"))
        ]:
            del request.headers[header]
        request.headers["Content-MD5"] = md5(_bytes(request.body))

    def _add_checksum(self, request: PutObjectRequestTypeDef | UploadPartRequestTypeDef, body: Body) -> None:
        """What the store compares the bytes with before it says that it has them."""
        if self.content_md5:
            request["ContentMD5"] = md5(body)
        else:
            request["ChecksumCRC32"] = crc32(body)


def _bytes(body: str | bytes) -> bytes:
    return body.encode() if isinstance(body, str) else body


def _identifier(entry: Entry) -> ObjectIdentifierTypeDef:
    return {"Key": entry.key, "VersionId": entry.version} if entry.version else {"Key": entry.key}
