"""Signature Version 4 of AWS, for requests to S3 whose body's digest is known.

https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
"""

import hmac
from collections.abc import Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from typing import Final
from urllib.parse import quote

from msgspec import Struct

ALGORITHM: Final = "AWS4-HMAC-SHA256"
EMPTY_DIGEST: Final = sha256(b"").hexdigest()


class Bucket(Struct, frozen=True, kw_only=True):
    """Where objects go: `endpoint` is the URL before the key."""

    name: str
    prefix: str
    region: str
    endpoint: str


class S3Credentials(Struct, frozen=True):
    """An access key, and the token that comes with one that was lent for a while."""

    access_key: str
    secret_key: str
    token: str | None = None


class S3Request(Struct, frozen=True, kw_only=True):
    """A request to sign. `path` is as it is sent: quoted, beginning with a slash."""

    method: str
    host: str
    path: str
    query: Sequence[tuple[str, str]] = ()
    digest: str = EMPTY_DIGEST

    @property
    def query_text(self) -> str:
        """The query as it is signed and sent: quoted, and in order."""
        return "&".join(f"{key}={value}" for key, value in sorted((_quoted(k), _quoted(v)) for k, v in self.query))


def signed_headers(request: S3Request, credentials: S3Credentials, *, region: str, at: datetime) -> dict[str, str]:
    """Return the headers that a request is sent with."""
    stamp = at.strftime("%Y%m%dT%H%M%SZ")
    headers = {"host": request.host, "x-amz-content-sha256": request.digest, "x-amz-date": stamp}
    if credentials.token is not None:
        headers["x-amz-security-token"] = credentials.token
    scope = f"{stamp[:8]}/{region}/s3/aws4_request"
    names = ";".join(sorted(headers))
    text = "\n".join((ALGORITHM, stamp, scope, sha256(_canonical(request, headers, names).encode()).hexdigest()))
    signature = hmac.new(_key(credentials.secret_key, scope), text.encode(), sha256).hexdigest()
    authorization = f"{ALGORITHM} Credential={credentials.access_key}/{scope}, SignedHeaders={names}"
    return {**headers, "authorization": f"{authorization}, Signature={signature}"}


def _canonical(request: S3Request, headers: Mapping[str, str], names: str) -> str:
    lines = "".join(f"{name}:{headers[name].strip()}\n" for name in sorted(headers))
    return f"{request.method}\n{request.path}\n{request.query_text}\n{lines}\n{names}\n{request.digest}"


def _key(secret: str, scope: str) -> bytes:
    key = f"AWS4{secret}".encode()
    for part in scope.split("/"):
        key = hmac.new(key, part.encode(), sha256).digest()
    return key


def _quoted(text: str) -> str:
    return quote(text, safe="-_.~")
