"""Ragstone weighs the answers of RAG systems against their evidence."""

from __future__ import annotations

__version__ = "0.1.0"
