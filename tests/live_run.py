"""The pages of a store behind their server, for tests of the pages and of what they ask for."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ragstone import Run, api, evaluate
from ragstone.render.html.live import Live
from ragstone.store.database import Store
from ragstone.testing import ScriptedJudge


@contextmanager
def listening(store: Store) -> Iterator[Live]:
    """The server of a store's runs, while it listens."""
    with api.serving(store) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def stored(folder: Path, records: int = 1, grade: str = "3") -> Run:
    """A run of so many records, all of one grade, in the store ``s.db`` of a folder."""
    rows = [{"id": f"r{n}", "question": "q", "response": "It is.", "contexts": ["It is."]} for n in range(records)]
    return evaluate(rows, "groundedness", ScriptedJudge({"support": grade}), store=folder / "s.db")


@contextmanager
def served(folder: Path, records: int) -> Iterator[Live]:
    """The server of one run of so many records, which is stored in ``folder``, while it listens."""
    with listening(stored(folder, records).store) as server:
        yield server
