"""Connections to PostgreSQL, and what makes them bearable."""

from reaper.db.connection import Connection, connect, parameters, teach, translate, translated

__all__ = ["Connection", "connect", "parameters", "teach", "translate", "translated"]
