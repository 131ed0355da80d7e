"""Blob stores: a folder, and a bucket of moto, which answers as S3 does."""

from collections.abc import AsyncIterator, Callable
from itertools import count
from pathlib import Path

import pytest
from botocore.session import get_session

from drumline.blobs import S3Credentials, open_blobs
from drumline.ports.blobs import BlobStore
from tests.harness.parameters import REGION

KEY = S3Credentials("testing", "testing")
_numbers = count(1)


@pytest.fixture
def bucket_url(parameter_server: str) -> str:
    """The URL of an empty bucket, with a prefix."""
    name = f"blobs-{next(_numbers)}"
    client = get_session().create_client(
        "s3", region_name=REGION, endpoint_url=parameter_server, aws_access_key_id="testing", aws_secret_access_key="x"
    )
    client.create_bucket(Bucket=name, CreateBucketConfiguration={"LocationConstraint": REGION})
    return f"s3://{name}/some/where?endpoint={parameter_server}&region={REGION}"


@pytest.fixture(params=["folder", "s3"])
def blob_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "folder":
        return (tmp_path / "blobs").as_uri()
    url: str = request.getfixturevalue("bucket_url")
    return url


@pytest.fixture
async def make_blobs() -> AsyncIterator[Callable[[str], BlobStore]]:
    made: list[BlobStore] = []

    def make(url: str) -> BlobStore:
        made.append(open_blobs(url, KEY))
        return made[-1]

    yield make
    for each in made:
        await each.close()
