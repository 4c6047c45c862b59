"""`[figures]`, `[case_figures]`, `[leaderboard]` and `[ranking]` of challenge.toml: what is made of the metrics.

Every kind of challenge takes these tables. They are added to what the kind itself declares.
"""
