"""Opens the blob store that a URL names."""

import asyncio
import re
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, unquote, urlsplit

from drumline.blobs.folder import FolderBlobs
from drumline.blobs.signature import Bucket, S3Credentials
from drumline.core.errors import Invalid, Unavailable
from drumline.ports.blobs import BlobStore

FIELD: Final = "blob_url"
DEFAULT_REGION: Final = "us-east-1"
PARAMETERS: Final = frozenset({"endpoint", "region"})
_BUCKET: Final = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_PREFIX: Final = re.compile(r"[0-9A-Za-z_.~/-]*")


def open_blobs(url: str, credentials: S3Credentials | None = None) -> BlobStore:
    """Return the store at a URL, or raise `Invalid`; it connects when it is first used."""
    parts = urlsplit(url)
    if parts.scheme == "file":
        return FolderBlobs(_folder(parts.netloc, parts.path))
    if parts.scheme != "s3":
        raise Invalid("must be file:///folder or s3://bucket/prefix", field=FIELD)
    if parts.username or parts.password:
        raise Invalid("must not have a key in it: set blobs.access_key and blobs.secret_key", field=FIELD)
    bucket = _bucket(parts.netloc, parts.path.strip("/"), dict(parse_qsl(parts.query, keep_blank_values=True)))

    async def given() -> S3Credentials:
        return await asyncio.to_thread(_found_credentials) if credentials is None else credentials

    from drumline.blobs.s3 import S3Blobs  # noqa: PLC0415 - with a parser of XML, for those who use it

    return S3Blobs(bucket, given)


def _folder(host: str, path: str) -> Path:
    if host not in {"", "localhost"} or not path.startswith("/"):
        raise Invalid("must name a folder of this machine with three slashes, as file:///srv/blobs", field=FIELD)
    return Path(unquote(path))


def _bucket(name: str, prefix: str, asked: dict[str, str]) -> Bucket:
    if not _BUCKET.fullmatch(name):
        raise Invalid(f"{name!r} is not the name of a bucket", field=FIELD)
    if not _PREFIX.fullmatch(prefix):
        raise Invalid("the prefix may have letters, digits and the characters _ . ~ - /", field=FIELD)
    if unknown := sorted(asked.keys() - PARAMETERS):
        raise Invalid(f"does not know the parameter {unknown[0]!r}: endpoint and region are known", field=FIELD)
    region, endpoint = asked.get("region") or DEFAULT_REGION, asked.get("endpoint")
    if endpoint is None:
        return Bucket(name=name, prefix=prefix, region=region, endpoint=f"https://{name}.s3.{region}.amazonaws.com")
    parts = urlsplit(endpoint)
    if parts.scheme not in {"http", "https"} or not parts.netloc or parts.query or parts.fragment:
        raise Invalid("endpoint must be http://host:port or https://host", field=FIELD)
    return Bucket(name=name, prefix=prefix, region=region, endpoint=f"{endpoint.rstrip('/')}/{name}")


def _found_credentials() -> S3Credentials:
    """Return what botocore finds: in the environment, a profile, or by the role of the machine or pod."""
    try:
        from botocore.session import get_session  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as error:
        raise Unavailable(
            "the blob store has no key: set blobs.access_key and blobs.secret_key, or pip install 'drumline[aws]' "
            "to use those of the machine"
        ) from error
    found = get_session().get_credentials()
    if found is None:
        raise Unavailable("the blob store has no key: set blobs.access_key and blobs.secret_key")
    frozen = found.get_frozen_credentials()
    return S3Credentials(frozen.access_key, frozen.secret_key, frozen.token)
