"""The test kit: endpoints and judges that answer without a model, for your own tests and Ragstone's.

``FakeServer`` is an endpoint on a real socket, for testing clients. ``ScriptedJudge`` is a judge without a network, for
testing pipelines. ``drive`` runs one metric by hand. The rest of the package does not depend on them.
"""

from __future__ import annotations

from ragstone.testing.behaviour import Behaviour, Knobs, Scripted
from ragstone.testing.replies import REPLY_FORMATS, fitting, labels_reply
from ragstone.testing.scripted import Script, ScriptedBackend, ScriptedJudge, drive, scripted_answer
from ragstone.testing.server import FakeServer

__all__ = [
    "REPLY_FORMATS",
    "Behaviour",
    "FakeServer",
    "Knobs",
    "Script",
    "Scripted",
    "ScriptedBackend",
    "ScriptedJudge",
    "drive",
    "fitting",
    "labels_reply",
    "scripted_answer",
]
