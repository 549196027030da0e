"""The store: one SQLite file that holds every paid call and every result. The only SQL of the project."""
