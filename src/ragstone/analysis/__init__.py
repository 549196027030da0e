"""Numbers and decisions of finished runs, read from the store. Nothing here renders."""
