"""The arena's folder and database."""
