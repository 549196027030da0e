"""The test kit: endpoints and judges that answer without any model, for your tests and ours.

``FakeServer`` is an endpoint on a real socket, for tests of whatever talks to one. ``ScriptedJudge`` is a judge
without a network, for tests of pipelines; ``drive`` runs one metric by hand. Nothing in the package needs them.
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
