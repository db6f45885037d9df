"""Connections to PostgreSQL, and what makes them bearable."""

from reaper.db.connection import Connection, connect, parameters, register_time_loader, translate, translated

__all__ = ["Connection", "connect", "parameters", "register_time_loader", "translate", "translated"]
