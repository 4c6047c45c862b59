"""All teams of a challenge: each gets the metrics.json that `podium evaluate` would give it.

The unit of work is one case for several teams, so a reference is read once for all of them. Every score is kept as soon
as it is computed, so a run that was stopped, or repeated after a change, computes only what is missing.
"""
