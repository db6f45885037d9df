"""Valkey servers with options, a cluster of one, Sentinel, and a server that never answers."""

import contextlib
import dataclasses
import os
import signal
import socket
import threading
from collections.abc import Iterator

import redis

from reaper.dev.embedded import Valkey, binaries, directories
from reaper.dev.embedded.server import free_port
from reaper.dev.embedded.supervised_process import LaunchPlan, SupervisedProcess
from tests.support.waiting import wait_until

PATIENCE = 30


class TunedValkey(Valkey):
    """A Valkey with further options on its command line."""

    def __init__(self, *options: str) -> None:
        self._options = options
        super().__init__()

    def _launch_plan(self) -> LaunchPlan:
        plan = super()._launch_plan()
        return dataclasses.replace(plan, serve=[*plan.serve, *self._options])


def pid_of(valkey: Valkey) -> int:
    with redis.Redis.from_url(valkey.url) as client:
        return int(client.info("server")["process_id"])


@contextlib.contextmanager
def stopped(valkey: Valkey) -> Iterator[None]:
    """The server hangs: it is there and does not answer."""
    pid = pid_of(valkey)
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


class ClusterNode(TunedValkey):
    """One node of a cluster, without slots at first."""

    def __init__(self) -> None:
        self.bus = free_port()
        super().__init__("--cluster-enabled", "yes", "--cluster-port", str(self.bus))
        self.client = redis.Redis.from_url(self.url)

    def cluster(self, *words: object) -> bytes:
        answer = self.client.execute_command("CLUSTER", *words)
        return answer if isinstance(answer, bytes) else str(answer).encode()

    def stop(self) -> None:
        self.client.close()
        super().stop()


@contextlib.contextmanager
def cluster_of_one() -> Iterator[ClusterNode]:
    """A cluster whose only node has all slots."""
    with ClusterNode() as node:
        node.cluster("ADDSLOTSRANGE", 0, 16383)
        wait_until(lambda: b"cluster_state:ok" in node.cluster("INFO"))
        yield node


@contextlib.contextmanager
def joined(first: ClusterNode) -> Iterator[ClusterNode]:
    """A second node of the first one's cluster, without slots."""
    with ClusterNode() as second:
        first.cluster("MEET", "127.0.0.1", second.port, second.bus)
        wait_until(lambda: all(b"cluster_known_nodes:2" in node.cluster("INFO") for node in (first, second)))
        wait_until(lambda: all(b"handshake" not in node.cluster("NODES") for node in (first, second)))
        wait_until(lambda: b"cluster_state:ok" in second.cluster("INFO"))
        yield second


def move_slot(slot: int, source: ClusterNode, target: ClusterNode) -> None:
    """Give an empty slot to another node."""
    owner = target.cluster("MYID")
    target.cluster("SETSLOT", slot, "NODE", owner)
    source.cluster("SETSLOT", slot, "NODE", owner)


@contextlib.contextmanager
def sentinel_for(primary: Valkey) -> Iterator[int]:
    """A Sentinel that knows the primary as `pastes`; its port."""
    directory = directories.unused_path(directories.scratch_directory())
    port = free_port()
    monitor = f"sentinel monitor pastes 127.0.0.1 {primary.port} 1"
    write = (
        f"printf 'port {port}\\nbind 127.0.0.1\\ndir {directory}\\n{monitor}\\n' > {directory}/sentinel.conf"
    )
    process = SupervisedProcess(
        "Sentinel",
        LaunchPlan(
            directories=[str(directory)],
            prepare=[["/bin/sh", "-c", write]],
            serve=[str(binaries.valkey_server()), f"{directory}/sentinel.conf", "--sentinel"],
            removals=[str(directory)],
        ),
    )
    try:
        process.wait_until(lambda: _knows_the_primary(port), PATIENCE)
        yield port
    finally:
        process.stop()


def _knows_the_primary(port: int) -> bool:
    try:
        with redis.Redis(port=port, socket_timeout=5) as sentinel:
            state = sentinel.sentinel_masters()["pastes"]
            return bool(state["is_master"] and not state["is_sdown"] and state["num-slaves"] >= 0)
    except redis.RedisError:
        return False


class Silence:
    """A server that takes connections and never says a word; it counts them."""

    def __init__(self) -> None:
        self.connections: list[socket.socket] = []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self._thread = threading.Thread(target=self._accept)
        self._thread.start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                self.connections.append(self._listening.accept()[0])

    def close(self) -> None:
        # Closing alone does not wake a thread that accepts.
        self._listening.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        for each in (self._listening, *self.connections):
            each.close()
