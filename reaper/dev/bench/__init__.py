"""Measures reaper beside what a user would otherwise do: the same data, the same run, and ratios."""
