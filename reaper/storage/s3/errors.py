"""What an S3 store means when it refuses, and what is to be done about it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from urllib.parse import urlsplit

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectionClosedError,
    ConnectTimeoutError,
    CredentialRetrievalError,
    EndpointConnectionError,
    FlexibleChecksumError,
    IncompleteReadError,
    NoCredentialsError,
    ParamValidationError,
    PartialCredentialsError,
    ReadTimeoutError,
    ResponseStreamingError,
    SSLError,
    SSOError,
    TokenRetrievalError,
)
from botocore.parsers import ResponseParserError

from reaper.errors import ConfigError, ReaperError, Unreachable

# All that a request can raise. UnicodeError: a key that cannot be written as UTF-8.
REQUEST_ERRORS = (BotoCoreError, ClientError, ResponseParserError, UnicodeError)
LONGEST_REASON = 200

_NO_CREDENTIALS = (
    NoCredentialsError,
    PartialCredentialsError,
    CredentialRetrievalError,
    TokenRetrievalError,
    SSOError,
)
_WRONG_CREDENTIALS = frozenset(
    {
        "ExpiredToken",
        "ExpiredTokenException",
        "InvalidAccessKeyId",
        "InvalidClientTokenId",
        "InvalidSecurity",
        "InvalidToken",
        "RequestTimeTooSkewed",
        "SignatureDoesNotMatch",
        "TokenRefreshRequired",
    }
)
_WRONG_PLACE = frozenset(
    {"AuthorizationHeaderMalformed", "IllegalLocationConstraintException", "PermanentRedirect"}
)
_STOP = (
    _WRONG_CREDENTIALS
    | _WRONG_PLACE
    | {"AccountProblem", "AllAccessDisabled", "InvalidBucketName", "NoSuchBucket"}
)
_FORBIDDEN = frozenset({"AccessDenied", "Forbidden", "403"})
_FOR_GOOD = _FORBIDDEN | {"MethodNotAllowed", "KeyTooLongError", "ObjectLocked"}
_GONE = frozenset({"NoSuchKey", "NoSuchVersion", "404"})
_BUSY = frozenset(
    {
        "BandwidthLimitExceeded",
        "RequestLimitExceeded",
        "RequestThrottled",
        "RequestThrottledException",
        "ServiceUnavailable",
        "SlowDown",
        "SlowDownRead",
        "SlowDownWrite",
        "Throttling",
        "ThrottlingException",
        "TooManyRequests",
        "TooManyRequestsException",
    }
)
# Answers with status 400 that say nothing about the keys.
_BROKEN_ON_THE_WAY = frozenset(
    {"BadDigest", "IncompleteBody", "InvalidDigest", "RequestTimeout", "XAmzContentSHA256Mismatch"}
)
_WORDS: tuple[tuple[type[Exception], str], ...] = (
    (ReadTimeoutError, "no answer in time"),
    (ConnectTimeoutError, "no connection in time"),
    (SSLError, "no secure connection"),
    (EndpointConnectionError, "no connection"),
    (ConnectionClosedError, "the connection broke"),
    (ResponseStreamingError, "the connection broke"),
    (IncompleteReadError, "the connection broke"),
    (FlexibleChecksumError, "checksum mismatch"),
    (ResponseParserError, "the reply is not an S3 reply"),
    (UnicodeError, "the key is not valid Unicode"),
    (_NO_CREDENTIALS[0], "no AWS credentials were found"),
)


class Kind(Enum):
    """What a refusal asks for."""

    LATER = auto()
    AWAY = auto()
    FOR_GOOD = auto()
    GONE = auto()
    STOP = auto()
    BAD_REQUEST = auto()
    NO_BATCH = auto()
    NEEDS_MD5 = auto()


@dataclass(frozen=True, slots=True)
class Refusal:
    """A refusal: what to do about it, and a short reason for people, without any secret."""

    kind: Kind
    reason: str

    @property
    def outage(self) -> bool:
        """Whether it says nothing about the keys: the store does not answer, is busy or refuses the login."""
        return self.kind in (Kind.AWAY, Kind.STOP)


def of_request(error: Exception) -> Refusal:
    """What a failed request about many keys means."""
    reason = _reason(error)
    if isinstance(error, ResponseParserError | UnicodeError):
        return Refusal(Kind.BAD_REQUEST, reason)
    if isinstance(error, _NO_CREDENTIALS):
        return Refusal(Kind.STOP, reason)
    if not isinstance(error, ClientError):
        return Refusal(Kind.AWAY, reason)
    return Refusal(_kind(_code(error), _status(error), reason), reason)


def of_key(error: Exception) -> Refusal:
    """What a failed request about one key means: a refusal then concerns this key alone."""
    refusal = of_request(error)
    if isinstance(error, ClientError):
        return Refusal(_kind_for_one(_code(error), _status(error)), refusal.reason)
    return Refusal(Kind.FOR_GOOD, refusal.reason) if isinstance(error, UnicodeError) else refusal


def in_reply(code: str, message: str) -> Refusal:
    """What an error inside a reply means for its key."""
    if code in _GONE:
        return Refusal(Kind.GONE, code)
    reason = _short(code, message)
    if code in _FOR_GOOD:
        return Refusal(Kind.FOR_GOOD, reason)
    return Refusal(Kind.AWAY if code in _BUSY else Kind.LATER, reason)


def says_absent(error: ClientError) -> bool:
    """Whether the store itself says that there is no such object; any other 404 may come from a proxy."""
    return _code(error) in ("NoSuchKey", "NoSuchVersion")


def says_exists(error: ClientError) -> bool:
    """Whether the object that was not to exist does, or another request is about to make it."""
    return _status(error) == 412 or _code(error) in ("PreconditionFailed", "ConditionalRequestConflict")


def knows_no_condition(error: ClientError) -> bool:
    """Whether the store refuses the condition itself."""
    return _status(error) == 501 or _code(error) in ("NotImplemented", "InvalidArgument", "InvalidRequest")


def says_unknown(error: ClientError) -> bool:
    """Whether the store does not know the request at all."""
    return _status(error) in (405, 501) or _code(error) in ("NotImplemented", "MethodNotAllowed")


def says_no_upload(error: ClientError) -> bool:
    """Whether the parts that were to be joined are not there: dropped, or joined before."""
    return _code(error) == "NoSuchUpload"


def explain(error: Exception, bucket: str, endpoint_url: str | None) -> ReaperError:
    """The error for the person who set the store up, with what to do."""
    where = without_login(endpoint_url) if endpoint_url else "AWS"
    code = _code(error) if isinstance(error, ClientError) else ""
    if code in ("NoSuchBucket", "404"):
        return ConfigError(
            f"bucket {bucket} does not exist at {where}; create it or set REAPER_S3_BUCKET",
            f"For example: aws s3 mb s3://{bucket}" + (f" --endpoint-url {where}" if endpoint_url else ""),
        )
    if isinstance(error, _NO_CREDENTIALS) or code in _WRONG_CREDENTIALS:
        return ConfigError(
            f"{where} refuses the AWS credentials: {_reason(error)}",
            "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or the variables that "
            "reaper.toml names, to credentials of this store.",
        )
    if code in _FORBIDDEN:
        return ConfigError(
            f"the AWS credentials may not use bucket {bucket} at {where}: {_reason(error)}",
            "They need s3:ListBucket, s3:GetBucketVersioning, s3:GetObject, s3:PutObject, s3:DeleteObject "
            "and s3:AbortMultipartUpload; "
            "on a versioned bucket also s3:ListBucketVersions and s3:DeleteObjectVersion.",
        )
    if isinstance(error, ParamValidationError):
        return ConfigError(
            f"invalid bucket name {bucket!r}", "Set REAPER_S3_BUCKET to the name of the bucket alone."
        )
    if code in _STOP:
        return ConfigError(
            f"bucket {bucket} cannot be used at {where}: {_reason(error)}",
            "Set AWS_REGION to the region of the bucket, and REAPER_S3_BUCKET to its name.",
        )
    if isinstance(error, ClientError) and not _is_away(code, _status(error)):
        return ReaperError(f"the S3 store at {where} refuses the request: {_reason(error)}")
    return Unreachable(
        f"the S3 store at {where} does not answer: {_reason(error)}",
        "Check that it runs, and its address: REAPER_S3_ENDPOINT_URL, or endpoint_url in reaper.toml.",
    )


def without_login(url: str) -> str:
    """The URL as it may be shown: a name and a password in it are left out."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()


def _kind(code: str, status: int, reason: str) -> Kind:
    if code in _STOP or code in _FORBIDDEN:
        return Kind.STOP
    if code in ("NotImplemented", "MethodNotAllowed") or status in (405, 501):
        return Kind.NO_BATCH
    if code == "MissingContentMD5" or (status == 400 and "content-md5" in reason.lower()):
        return Kind.NEEDS_MD5
    if _is_away(code, status):
        return Kind.AWAY
    return Kind.BAD_REQUEST if status in (400, 413) else Kind.LATER


def _kind_for_one(code: str, status: int) -> Kind:
    if code in _FOR_GOOD or code == "NotImplemented" or status in (405, 501):
        return Kind.FOR_GOOD
    if code in _STOP:
        return Kind.STOP
    if code in _GONE:
        return Kind.GONE
    # A store may answer 500 to this key each time: it must use up its attempts and reach the DLQ some day.
    return Kind.AWAY if _is_away(code, status) and status != 500 else Kind.LATER


def _is_away(code: str, status: int) -> bool:
    """Whether this is less an answer than the lack of one."""
    return code in _BUSY or code in _BROKEN_ON_THE_WAY or status == 429 or status >= 500


def _code(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))


def _status(error: ClientError) -> int:
    return int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))


def _reason(error: Exception) -> str:
    """In our words where the library's may contain an address with a password in it."""
    if isinstance(error, ClientError):
        return _short(_code(error), str(error.response.get("Error", {}).get("Message", "")))
    for kind, words in _WORDS:
        if isinstance(error, kind):
            return words
    return type(error).__name__


def _short(code: str, message: str) -> str:
    text = f"{code}: {message}" if message else code
    return " ".join(text.split())[:LONGEST_REASON]
