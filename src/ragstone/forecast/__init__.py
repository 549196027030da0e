"""Estimate the calls, cost and time of a run without calling a judge, by a dry run of the same flows."""
