"""GET, HEAD and PUT of small objects, written by hand: the library's general way costs six times as much.

The library still opens the connections, finds credentials and says where a bucket lies. Whatever does not get
the usual answer is left to it: it asks again, and knows what errors mean. The library's events do not show
these requests, so they have their spans here, and are counted: each that may have been heard, when its answer
is closed.
"""

from __future__ import annotations

import hashlib
import hmac
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote, urlsplit

from botocore.exceptions import HTTPClientError
from botocore.exceptions import ReadTimeoutError as LibraryReadTimeoutError
from urllib3.exceptions import ConnectTimeoutError, HTTPError, ProxyError, ReadTimeoutError, SSLError

from reaper.storage.usage_meter import BackendMeter, Kind
from reaper.telemetry import spans

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client
    from urllib3 import BaseHTTPResponse

NO_BYTES = hashlib.sha256().hexdigest()
# Asked for nothing: it only shows where the objects of the bucket lie.
_SAMPLE = "sample"
_OPERATIONS = {"GET": "GetObject", "HEAD": "HeadObject", "PUT": "PutObject"}
_ALGORITHM = "AWS4-HMAC-SHA256"
# Nobody has heard the request; a refused connection is a ConnectTimeoutError to the library, too.
_NOT_SENT = (ConnectTimeoutError, ProxyError, SSLError)


@dataclass(frozen=True, slots=True)
class SigningKey:
    """The key of a day, and whose it is."""

    day: str
    access_key: str
    secret_key: str
    key: bytes


class QuickAnswer:
    """An answer whose body is not read yet; closed, its request counts with what was read of it."""

    def __init__(self, response: BaseHTTPResponse, ended: Callable[[int], None]) -> None:
        self.status = response.status
        self.headers = response.headers
        self._response = response
        self._ended = ended

    def read(self, most: int) -> bytes:
        """At most so many bytes; none at the end."""
        return self._response.read(most)

    def give_up(self) -> None:
        """Close the connection: more may be coming."""
        self._response.close()

    def close(self) -> None:
        """All is read that is wanted; call it once."""
        self._response.close()
        self._ended(self._response.tell())


class QuickRequests:
    """Requests about objects of one bucket; any number of threads may share it."""

    def __init__(
        self, client: S3Client, bucket: str, meter: BackendMeter | None = None, backend: str = ""
    ) -> None:
        self._client = cast(Any, client)
        self._bucket = bucket
        self._backend = backend
        self._meter = meter
        self._guard = threading.Lock()
        self._base: str | None = None
        self._host = ""
        self._path = ""
        self._connections: Any = None
        self._key: SigningKey | None = None

    def send(
        self, method: str, key: str, headers: Mapping[str, str], body: bytes = b"", digest: str = NO_BYTES
    ) -> QuickAnswer | None:
        """The answer, whose body is not read yet; None where only the library can ask this.

        `digest` is the SHA-256 of the body, of which the store gets to know with the signature.
        """
        if not self._is_usable():
            return None
        try:
            url = quote(key, safe="/~")
        except UnicodeError:
            return None
        signed = self._sign(method, self._path + url, headers, digest)
        if signed is None:
            return None
        try:
            with spans.s3_request(_OPERATIONS[method], self._bucket, self._backend) as answered:
                response = self._ask(method, self._path + url, signed, body)
                answered(response.status)
        except ReadTimeoutError as error:
            self._count(method, body, 0)
            raise LibraryReadTimeoutError(endpoint_url=self._base_url, error=error) from None
        except HTTPError as error:
            # It broke before there was an answer, or there is no connection: the library tries again.
            if not isinstance(error, _NOT_SENT):
                self._count(method, body, 0)
            return None
        return QuickAnswer(response, lambda egress: self._count(method, body, egress))

    def _ask(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> BaseHTTPResponse:
        response: BaseHTTPResponse = self._connections.urlopen(
            method,
            url,
            body=body or None,
            headers=headers,
            retries=False,
            assert_same_host=False,
            preload_content=False,
            decode_content=False,
        )
        return response

    def _count(self, method: str, body: bytes, egress: int) -> None:
        if self._meter:
            self._meter.count(Kind.WRITE if method == "PUT" else Kind.READ, len(body), egress)

    @property
    def _base_url(self) -> str:
        return self._base or ""

    def _is_usable(self) -> bool:
        if self._base is None:
            with self._guard:
                if self._base is None:
                    self._base = self._find_base()
        return bool(self._base)

    def _find_base(self) -> str:
        """Where objects of the bucket lie; nothing for buckets that are signed in another way."""
        if self._bucket.startswith("arn:") or self._bucket.endswith("--x-s3"):
            return ""
        if self._client.meta.config.signature_version not in ("s3v4", "v4"):
            return ""
        url = self._client.generate_presigned_url(
            "get_object", Params={"Bucket": self._bucket, "Key": _SAMPLE}
        )
        parts = urlsplit(url)
        if not parts.path.endswith(_SAMPLE):
            return ""
        http = self._client._endpoint.http_session  # noqa: SLF001  the library's own connections
        if http._proxy_config.proxy_url_for(url):  # noqa: SLF001
            return ""
        self._connections = http._manager.connection_from_url(url)  # noqa: SLF001
        http._setup_ssl_cert(self._connections, url, http._verify)  # noqa: SLF001
        self._host, self._path = parts.netloc.rpartition("@")[2], parts.path.removesuffix(_SAMPLE)
        return f"{parts.scheme}://{parts.netloc}{self._path}"

    def _sign(self, method: str, path: str, headers: Mapping[str, str], digest: str) -> dict[str, str] | None:
        """Signature version 4, for requests without a query."""
        found = self._client._request_signer._credentials  # noqa: SLF001
        if found is None:
            return None
        login = found.get_frozen_credentials()
        now = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        signed = {**headers, "host": self._host, "x-amz-content-sha256": digest, "x-amz-date": now}
        if login.token:
            signed["x-amz-security-token"] = login.token
        names = sorted(signed)
        listed = ";".join(names)
        lines = "".join(f"{name}:{signed[name]}\n" for name in names)
        canonical = f"{method}\n{path}\n\n{lines}\n{listed}\n{digest}"
        scope = f"{now[:8]}/{self._client.meta.region_name}/s3/aws4_request"
        text = f"{_ALGORITHM}\n{now}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
        key = self._signing_key(now[:8], login.access_key, login.secret_key)
        signature = hmac.digest(key, text.encode(), "sha256").hex()
        credential = f"Credential={login.access_key}/{scope}"
        signed["authorization"] = f"{_ALGORITHM} {credential}, SignedHeaders={listed}, Signature={signature}"
        return signed

    def _signing_key(self, day: str, access_key: str, secret_key: str) -> bytes:
        known = self._key
        if known is None or (known.day, known.access_key, known.secret_key) != (day, access_key, secret_key):
            key = f"AWS4{secret_key}".encode()
            for part in (day, self._client.meta.region_name, "s3", "aws4_request"):
                key = hmac.digest(key, part.encode(), "sha256")
            known = self._key = SigningKey(day, access_key, secret_key, key)
        return known.key


def read_up_to(answer: QuickAnswer, most: int) -> bytes:
    """The first bytes of the body; the connection is given up where there are more."""
    pieces: list[bytes] = []
    left = most
    try:
        while left and (piece := answer.read(left)):
            pieces.append(piece)
            left -= len(piece)
        # At the end of the body the connection is free for the next request.
        if not left and answer.read(1):
            answer.give_up()
    except (HTTPError, OSError) as error:
        answer.give_up()
        raise HTTPClientError(error=error) from None
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)
