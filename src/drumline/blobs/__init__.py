"""Blob stores (`ports.blobs`): a folder, and a bucket of S3 or of a server that speaks its protocol.

Large payloads and results are kept here, beside the database. This package knows names and bytes; which of them belong
to tasks is known to the engine and to the scheduler's duty.
"""

from drumline.blobs.opening import open_blobs
from drumline.blobs.signature import S3Credentials

__all__ = ["S3Credentials", "open_blobs"]
