"""Files, streams and tables to records.

`open_records` takes a path, several paths, standard input, a data set of the hub, a frame or any iterable of dicts,
and gives a `Source`: it can be read any number of times, one record in memory at a time, and each reading gives
the same records with the same ids. `survey` reads all of it once and says what is there. What few runs need is
loaded from its own module: `banks` reads nuggets by topic, `topics` questions and `qrels` relevant ids, which a source
can give to its records; `leaderboards` reads and writes scores by run and topic.

Everything in a file is foreign: nothing is evaluated, sizes are bounded (`limits`), and what cannot be read
is named with its file, line and field. A format is one file here and one line in `formats`.
"""

from __future__ import annotations

from ragstone.records.bytestream import COMPRESSIONS
from ragstone.records.cut import Cut, Shard
from ragstone.records.exports import EXPORTS, Layout
from ragstone.records.fields import ALIASES, Fields, offered
from ragstone.records.file_formats import READERS
from ragstone.records.limits import MAX_RECORD_BYTES
from ragstone.records.source import SetAside, Source, open_records
from ragstone.records.survey import Note, Survey, has, survey

__all__ = [
    "ALIASES",
    "COMPRESSIONS",
    "EXPORTS",
    "MAX_RECORD_BYTES",
    "READERS",
    "Cut",
    "Fields",
    "Layout",
    "Note",
    "SetAside",
    "Shard",
    "Source",
    "Survey",
    "has",
    "offered",
    "open_records",
    "survey",
]
