"""How the work on cases runs: in this process or in several, with progress, on the cores that are free."""
