"""What people see of a run. Everything here reads the store, never the engine."""
