"""Everybody who takes part: the floor, what users write by hand, and reaper."""
