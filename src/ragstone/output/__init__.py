"""Write files for other programs: run folders and exports."""
