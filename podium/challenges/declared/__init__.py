"""A challenge from its challenge.toml alone: values, metrics, time; figures, leaderboard and ranking are common to all.

See docs/declared.md for the format and docs/metrics.md for the catalogue.
"""
