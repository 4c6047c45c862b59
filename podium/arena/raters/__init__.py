"""Who votes, on what, and how consistently."""
