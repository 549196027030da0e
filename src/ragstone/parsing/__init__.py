"""Completion text to objects; pure; raises ParseError and nothing else."""
