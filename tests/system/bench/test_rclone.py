"""The S3 server of the benchmark."""

from pathlib import Path

import boto3
import pytest

from reaper.dev.bench.servers import Servers
from reaper.dev.embedded import EmbeddedError


def test_a_bucket_is_filled_copied_and_emptied_over_s3(servers: Servers, tmp_path: Path):
    for key in ("ab/abc/1", "ab/abd/2", "cd/cde/3"):
        file = tmp_path / key
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"paste")
    s3 = servers.s3
    s3.fill("first-bucket", str(tmp_path))
    s3.copy("first-bucket", "second-bucket")
    client = boto3.client(
        "s3",
        endpoint_url=s3.endpoint_url,
        region_name="us-east-1",
        aws_access_key_id=s3.access_key,
        aws_secret_access_key=s3.secret_key,
    )
    listed = client.list_objects_v2(Bucket="second-bucket")["Contents"]
    assert [found["Key"] for found in listed] == ["ab/abc/1", "ab/abd/2", "cd/cde/3"]
    client.delete_objects(Bucket="second-bucket", Delete={"Objects": [{"Key": "ab/abc/1"}]})
    assert (s3.count("first-bucket"), s3.count("second-bucket")) == (3, 2)
    s3.remove("second-bucket")
    s3.copy("first-bucket", "second-bucket")
    assert s3.count("second-bucket") == 3
    client.close()


def test_what_it_refuses_is_told_in_its_own_words(servers: Servers):
    with pytest.raises(EmbeddedError, match="directory not found"):
        servers.s3.fill("third-bucket", "/nowhere")
