"""Expiry and garbage collection for content-addressed storage, with PostgreSQL in charge."""
