"""Read records from files, streams and tables.

`open_records` takes a path, several paths, standard input, a data set of the Hugging Face hub, a frame or any iterable
of dicts, and returns a `Source`. A source can be read any number of times, with one record in memory at a time; each
reading gives the same records with the same ids. `survey` reads a source once and reports its content. Modules that few
runs need are imported on demand: `banks` reads nuggets by topic, `topics` reads questions and qrels (relevant ids) by
topic, all of which a source can add to its records. `leaderboards` reads and writes scores by run and topic.

Input is untrusted: no code in it is executed, sizes are limited (`limits`), and errors name the file, line and field.
To add a file format, add a module here and a line in `file_formats`.
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
