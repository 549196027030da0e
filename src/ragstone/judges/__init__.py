"""Judges: each is a pure codec (question to calls, replies to answer) on top of a backend that does the I/O."""
