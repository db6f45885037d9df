"""An application that was there before reaper: its tables, made in its own way, and its rows."""

from __future__ import annotations

from typing import Any

import psycopg

from tests.support.migrate.release_folder import admin

# Names, types and columns of its own; neither a foreign key nor an index that reaper would ask for.
TABLES = """
    create table public.content (
        content_hash varchar(64) not null constraint content_by_hash primary key,
        ref_count integer not null default 0,
        mime varchar(100) default 'text/plain'
    );
    create table public.pastes (
        id bigint generated always as identity constraint pastes_by_id primary key,
        short_code varchar(20) not null constraint pastes_by_code unique,
        title text,
        content_hash varchar(64) not null,
        expires_at timestamptz
    );
"""
FOREIGN_KEY = """
    alter table public.pastes add constraint content_of_paste
        foreign key (content_hash) references public.content (content_hash);
"""
# Every third paste is due, two name each content.
ROWS = """
    insert into public.content (content_hash, ref_count)
    select 'hash-' || n, 2 from generate_series(0, {rows} / 2 - 1) as n;
    insert into public.pastes (short_code, title, content_hash, expires_at)
    select 'code-' || n, 'Title ' || n, 'hash-' || n / 2,
           case n % 3 when 0 then now() - interval '1 day' when 1 then now() + interval '1 year' end
      from generate_series(0, {rows} - 1) as n;
    analyze public.content, public.pastes;
"""


def build(dsn: str, *more: str, rows: int = 60) -> None:
    """Make the tables and their rows, then do what a variant needs."""
    with admin(dsn) as connection:
        connection.execute(TABLES)
        connection.execute(ROWS.format(rows=rows).encode())
        for statement in more:
            connection.execute(statement.encode())


def rows_of(dsn: str, table: str) -> list[tuple[Any, ...]]:
    """All rows of a table, with all its columns, in their order."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        return connection.execute(f"select * from public.{table} order by 1".encode()).fetchall()
