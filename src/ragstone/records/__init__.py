"""Files, streams and tables to records.

`open_records` takes a path, standard input, a data set of the hub, a frame or any iterable of dicts, and
gives a `Source`: it can be read any number of times, one record in memory at a time, and each reading gives
the same records with the same ids. `survey` reads all of it once and says what is there.

Everything in a file is foreign: nothing is evaluated, sizes are bounded (`limits`), and what cannot be read
is named with its file, line and field. A format is one file here and one line in `formats`.
"""

from __future__ import annotations

from ragstone.records.fields import ALIASES, Fields
from ragstone.records.formats import READERS
from ragstone.records.limits import MAX_RECORD_BYTES
from ragstone.records.source import SetAside, Source, open_records
from ragstone.records.survey import Note, Survey, has, survey

__all__ = [
    "ALIASES",
    "MAX_RECORD_BYTES",
    "READERS",
    "Fields",
    "Note",
    "SetAside",
    "Source",
    "Survey",
    "has",
    "open_records",
    "survey",
]
