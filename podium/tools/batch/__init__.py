"""All teams of a challenge: each gets the metrics.json that `podium evaluate` would give it.

The unit of work is one case for several teams: its reference is read once for all of them. Every score is kept as soon
as it is there, so a run that was stopped, or one after a change, does what is missing and nothing else.
"""
