"""A drain: claim, drop, side effects, finish; and what surrounds it."""
