"""One writer at a time: a lock on an open file or folder that the system lets go of when its process ends.

Nothing is left behind that could hold up the next command, however this one ends.
"""

from __future__ import annotations

try:
    import fcntl
except ImportError:  # Windows has no such lock
    fcntl = None  # type: ignore[assignment]


def locked(descriptor: int) -> bool:
    """Lock it until it is closed; BlockingIOError where another has it. False where there is no such lock.

    So it is on Windows, and in some folders of a network: who writes there needs a name of its own to write to.
    """
    if fcntl is None:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError:
        return False
    return True
