"""Rendering of runs for the terminal, HTML pages, notebooks and CI. Everything here reads results, not the engine."""
