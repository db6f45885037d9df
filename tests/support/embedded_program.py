"""A program that uses the embedded services, tells where they are, and ends as its first argument says."""

import json
import os
import signal
import sys

import psycopg

from reaper.dev.embedded import Postgres, Valkey


class OnPurpose(Exception):
    pass


def tell(postgres: Postgres, valkey: Valkey) -> None:
    with psycopg.connect(postgres.dsn()) as connection:
        data = connection.execute("show data_directory").fetchone()[0]
        owner = os.stat(postgres.host).st_uid
    facts = {
        "data": data,
        "socket": postgres.host,
        "owner": owner,
        "port": valkey.port,
        "bin": str(postgres.bin_dir),
    }
    print(json.dumps(facts), flush=True)


def main(how: str) -> None:
    # Whoever runs the tests in the background may have it ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if how == "forget":
        postgres, valkey = Postgres.start(), Valkey.start()
        tell(postgres, valkey)
        sys.stdin.read()
        return
    with Postgres.start() as postgres, Valkey.start() as valkey:
        tell(postgres, valkey)
        sys.stdin.read()
        if how == "raise":
            raise OnPurpose


if __name__ == "__main__":
    main(sys.argv[1])
