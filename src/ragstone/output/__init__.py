"""Files that other programs read: run folders and exports."""
