"""What a run will take, computed before any call: a dry run of the same flows."""
