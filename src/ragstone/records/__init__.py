"""Files, streams and tables to records.

`open_records` takes a path, several paths, standard input, a data set of the hub, a frame or any iterable of dicts,
and gives a `Source`: it can be read any number of times, one record in memory at a time, and each reading gives
the same records with the same ids. `survey` reads all of it once and says what is there. `read_bank` reads nuggets
by topic, `read_topics` questions and `read_qrels` relevant ids, which a source can give to its records;
`read_leaderboard` and `lines` read and write scores by run and topic.

Everything in a file is foreign: nothing is evaluated, sizes are bounded (`limits`), and what cannot be read
is named with its file, line and field. A format is one file here and one line in `formats`.
"""

from __future__ import annotations

from ragstone.records.banks import Bank, autojudge_line, bank_line, read_bank
from ragstone.records.bytestream import COMPRESSIONS
from ragstone.records.cut import Cut, Shard
from ragstone.records.exports import EXPORTS, Layout
from ragstone.records.fields import ALIASES, Fields, offered
from ragstone.records.file_formats import READERS
from ragstone.records.leaderboards import FORMS, Form, LeaderboardRow, lines, read_leaderboard
from ragstone.records.limits import MAX_RECORD_BYTES
from ragstone.records.qrels import Qrels, read_qrels
from ragstone.records.source import SetAside, Source, open_records
from ragstone.records.survey import Note, Survey, has, survey
from ragstone.records.topics import read_topics

__all__ = [
    "ALIASES",
    "COMPRESSIONS",
    "EXPORTS",
    "FORMS",
    "MAX_RECORD_BYTES",
    "READERS",
    "Bank",
    "Cut",
    "Fields",
    "Form",
    "Layout",
    "LeaderboardRow",
    "Note",
    "Qrels",
    "SetAside",
    "Shard",
    "Source",
    "Survey",
    "autojudge_line",
    "bank_line",
    "has",
    "lines",
    "offered",
    "open_records",
    "read_bank",
    "read_leaderboard",
    "read_qrels",
    "read_topics",
    "survey",
]
