"""Statistics in plain Python: means with intervals, and tests of paired differences; seeded."""
