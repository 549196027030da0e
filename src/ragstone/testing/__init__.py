"""The test kit: endpoints and judges that answer without any model, for your tests and ours.

Nothing in the package needs it.
"""

from __future__ import annotations

from ragstone.testing.behaviour import Behaviour, Scripted
from ragstone.testing.server import FakeServer

__all__ = ["Behaviour", "FakeServer", "Scripted"]
