"""The metrics.json files of all teams, or any table of scores, in; the final table and how certain it is out."""
