"""Export formats; each module declares its ``FORMATS``."""
