"""What every blob store promises, on a folder and on S3."""

import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from drumline.blobs import S3Credentials, open_blobs
from drumline.blobs.signature import S3Request, signed_headers
from drumline.core.clock import SystemClock
from drumline.core.errors import Invalid, Unavailable
from drumline.ports.blobs import BlobStore

MakeBlobs = Callable[[str], BlobStore]
LARGEST = 1_000_000


async def test_what_was_put_is_given_back(blob_url: str, make_blobs: MakeBlobs) -> None:
    blobs = make_blobs(blob_url)

    await blobs.put("home/task/a", b"x" * 300_000)
    await blobs.put("home/task/a", b"x" * 300_000)

    assert await make_blobs(blob_url).get("home/task/a", largest=LARGEST) == b"x" * 300_000
    assert await blobs.get("home/task/a", largest=10) == b"x" * 10
    assert await blobs.get("home/task/b", largest=LARGEST) is None
    assert await blobs.get("away/task/a", largest=LARGEST) is None


async def test_a_list_has_the_blobs_of_one_home_in_order_page_by_page(blob_url: str, make_blobs: MakeBlobs) -> None:
    blobs = make_blobs(blob_url)
    names = [f"home/task-{task}/{digest}" for task in (1, 2, 3) for digest in "ab"]
    for name in [*reversed(names), "homes/task-1/a", "other/task-1/a"]:
        await blobs.put(name, b"x")

    first = await blobs.list("home", after="", limit=4)
    rest = await blobs.list("home", after=first[-1].name, limit=4)

    assert [entry.name for entry in first + rest] == names
    assert all(abs(entry.modified_at - SystemClock().now()) < 3_600_000 for entry in first)
    assert await blobs.list("none", after="", limit=4) == []


async def test_deleting_passes_over_what_is_not_there(blob_url: str, make_blobs: MakeBlobs) -> None:
    blobs = make_blobs(blob_url)
    for name in ("home/task/a", "home/task/b"):
        await blobs.put(name, b"x")

    await blobs.delete(["home/task/a", "home/gone/a"])

    assert [entry.name for entry in await blobs.list("home", after="", limit=9)] == ["home/task/b"]


async def test_a_file_is_durable_by_all_names_above_it_also_if_another_process_had_written_it(
    tmp_path: Path, make_blobs: MakeBlobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda file: synced.append(os.fstat(file).st_ino))
    blobs = make_blobs(f"file://{tmp_path}/data/blobs")

    await blobs.put("home/task/a", b"x")
    first, synced[:] = set(synced), []
    await blobs.put("home/task/a", b"x")

    folders = _inodes(tmp_path / "data/blobs", tmp_path / "data/blobs/home", tmp_path / "data/blobs/home/task")
    assert first >= folders | _inodes(tmp_path, tmp_path / "data")
    assert set(synced) == folders


def _inodes(*paths: Path) -> set[int]:
    return {path.stat().st_ino for path in paths}


async def test_a_store_that_cannot_be_used_says_which_and_why(tmp_path: Path, make_blobs: MakeBlobs) -> None:
    (tmp_path / "file").write_text("not a folder")

    with pytest.raises(Unavailable, match=r"the blob store .*file does not work: "):
        await make_blobs((tmp_path / "file").as_uri()).put("home/task/a", b"x")
    with pytest.raises(Unavailable, match=r"the blob store s3://some-bucket cannot be reached: "):
        await make_blobs("s3://some-bucket?endpoint=http://127.0.0.1:1").put("home/task/a", b"x")


async def test_what_a_server_refuses_is_told_with_its_reason(bucket_url: str, make_blobs: MakeBlobs) -> None:
    blobs = make_blobs(bucket_url.replace("s3://blobs-", "s3://no-such-bucket-"))

    with pytest.raises(Unavailable, match=r"answers 404: .*NoSuchBucket"):
        await blobs.put("home/task/a", b"x")


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("ftp://host/folder", "must be file:///folder or s3://bucket/prefix"),
        ("file://host/folder", "three slashes"),
        ("s3://UPPER/prefix", "'UPPER' is not the name of a bucket"),
        ("s3://bucket/a b", "the prefix may have"),
        ("s3://bucket?endpont=http://x", "does not know the parameter 'endpont'"),
        ("s3://bucket?endpoint=host:9000", "endpoint must be http"),
        ("s3://key:secret@bucket", "must not have a key in it"),
    ],
)
def test_a_wrong_url_is_refused_with_what_is_wrong(url: str, reason: str) -> None:
    with pytest.raises(Invalid, match=reason) as caught:
        open_blobs(url)

    assert caught.value.field == "blob_url"


def test_a_request_is_signed_as_in_the_example_of_aws() -> None:
    request = S3Request(
        method="GET", host="examplebucket.s3.amazonaws.com", path="/", query=[("max-keys", "2"), ("prefix", "J")]
    )
    key = S3Credentials("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")

    headers = signed_headers(request, key, region="us-east-1", at=datetime(2013, 5, 24, tzinfo=UTC))

    assert headers["authorization"].endswith("34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7")


@pytest.mark.parametrize("token", [None, "lent-for-a-while"])
def test_a_request_is_signed_as_botocore_does_it(token: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    now = datetime(2026, 2, 3, 4, 5, 6, tzinfo=UTC)
    monkeypatch.setattr("botocore.auth.get_current_datetime", lambda: now)
    query = [("list-type", "2"), ("prefix", "a/b c+~"), ("start-after", "ä=&")]
    ours = S3Request(method="GET", host="host:9000", path="/bucket", query=query)

    headers = signed_headers(ours, S3Credentials("id", "secret", token), region="eu-west-1", at=now)
    theirs = AWSRequest(
        method="GET",
        url=f"http://host:9000/bucket?{ours.query_text}",
        headers={name: value for name, value in headers.items() if name != "authorization"},
    )
    S3SigV4Auth(Credentials("id", "secret", token), "s3", "eu-west-1").add_auth(theirs)

    assert headers["authorization"] == theirs.headers["Authorization"]
