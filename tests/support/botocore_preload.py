"""What botocore knows about services, a megabyte of JSON: read once per process instead of in each session.

To read it takes longer than most tests. Processes that are forked after `read` have it already.
"""

import functools

import botocore.session

botocore.session.create_loader = functools.cache(botocore.session.create_loader)


def read() -> None:
    """Read what a client for S3 needs."""
    botocore.session.get_session().create_client("s3", "us-east-1").close()
