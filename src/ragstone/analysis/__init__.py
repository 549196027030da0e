"""Compute statistics and decisions for finished runs, from the store. Nothing here renders output."""
