"""Rendering of runs: terminal, page, notebook and CI. Everything here reads results, never the engine."""
