"""Formats in which a run is exported, each in a file that declares its ``FORMATS``."""
