"""The end of an arena: no vote, undo or invitation after it. The database itself refuses them too."""

import sqlite3
import time

from podium.arena.store.database import Store
from podium.errors import UsageError


def close_arena(store: Store) -> None:
    """For good: a result that can be reopened is not one."""
    with store.writing() as connection:
        if closed_at(connection) is not None:
            raise UsageError("The arena is already closed.")
        connection.execute("UPDATE arena SET closed_at = ?", (time.time(),))


def closed_at(connection: sqlite3.Connection) -> float | None:
    """Seconds since 1970; None while it is open."""
    ((moment,),) = connection.execute("SELECT closed_at FROM arena").fetchall()
    return None if moment is None else float(moment)
