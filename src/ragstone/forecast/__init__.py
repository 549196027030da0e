"""Estimate what a run will take, without a call: a dry run of the same flows."""
