"""The operators' page: it shows what `ops` says, and gives the orders that `ops` knows.

    app = reaper.web.app()          # an ASGI application, to mount behind a login of one's own
    reaper web                      # the same in a process of its own, on 127.0.0.1

It has no SQL in it. What it asks is asked once for all open tabs (`board`), section by section (`sections/`);
what it may do is what the database login may do. Needs the extra `pg-reaper[web]`.
"""

from reaper.web.application import app

__all__ = ["app"]
