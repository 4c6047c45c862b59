"""Work on cases: how many processes, where they run, and how far they are."""
