"""The engine drives metrics' flows and judges' dialogues. It alone knows async, retries, limits and the store."""

from __future__ import annotations

from ragstone.engine.budget import Limits
from ragstone.engine.calls import Cache, Settings
from ragstone.engine.document import Weighed, input_of, to_json
from ragstone.engine.leases import Ask, Grant, Ledger, Lender
from ragstone.engine.route import Route, Routes, signature_of
from ragstone.engine.run import Engine, Job
from ragstone.engine.tally import Tally

__all__ = [
    "Ask",
    "Cache",
    "Engine",
    "Grant",
    "Job",
    "Ledger",
    "Lender",
    "Limits",
    "Route",
    "Routes",
    "Settings",
    "Tally",
    "Weighed",
    "input_of",
    "signature_of",
    "to_json",
]
