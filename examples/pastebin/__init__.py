"""A paste service."""
