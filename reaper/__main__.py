"""`python -m reaper` is the same as `reaper`."""

from reaper.cli import main

main()
