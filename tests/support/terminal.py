"""A command at a terminal of a given width, and what a person sees there."""

import fcntl
import os
import pty
import struct
import subprocess
import termios
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]


def shown(command: Sequence[str], width: int = 200, variables: Mapping[str, str] | None = None) -> str:
    """All that a command writes to its terminal, colours included; it must end well."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
    inherited = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    environment = {**inherited, "TERM": "xterm", "PYTHONPATH": str(ROOT), **(variables or {})}
    process = subprocess.Popen(command, env=environment, stdin=theirs, stdout=theirs)
    os.close(theirs)
    written = b""
    # Linux ends a pseudo-terminal whose other side closed with an error instead of an empty read.
    while True:
        try:
            written += os.read(ours, 65536)
        except OSError:
            break
    os.close(ours)
    assert process.wait() == 0
    return written.decode()
