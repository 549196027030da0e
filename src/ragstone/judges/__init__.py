"""Judges: a judge is a pure codec (a question to calls, replies to an answer) over an effectful backend."""
