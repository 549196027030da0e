"""Files, streams and tables to records."""
