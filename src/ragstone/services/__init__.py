"""Tools that record traces, over their HTTP APIs: their traces come in, scores go back; one file per tool.

A service is pure: it yields requests and is sent answers, as a metric yields questions. `connection` alone sends them.
"""

from __future__ import annotations

from typing import Final

from ragstone.errors import ConfigError
from ragstone.services.base import Service
from ragstone.services.langfuse import Langfuse
from ragstone.services.mlflow import MLflow
from ragstone.services.phoenix import Phoenix

SERVICES: Final[dict[str, Service]] = {one.name: one for one in (Phoenix(), MLflow(), Langfuse())}


def service_named(name: str) -> Service:
    """The service of a name; ConfigError lists those that there are."""
    if name not in SERVICES:
        raise ConfigError(f"no service '{name}'; expected {', '.join(SERVICES)}")
    return SERVICES[name]
