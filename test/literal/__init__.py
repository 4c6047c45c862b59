"""Slow, literal readings of the rules: the oracles that fast code is held against. Nothing here imports podium."""
