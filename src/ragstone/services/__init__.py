"""Pull traces from observability tools over their HTTP APIs and push scores back; one module per tool.

Services do no I/O: they yield requests and are sent the replies, as metrics yield questions. Only `connection` sends
requests.
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
    """Return the named service; raise a ConfigError that lists all services if it is unknown."""
    if name not in SERVICES:
        raise ConfigError(f"no service '{name}'; expected one of {', '.join(SERVICES)}")
    return SERVICES[name]
