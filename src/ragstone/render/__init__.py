"""What people see of a run: terminal, page, notebook and CI. Everything here reads results, never the engine."""
