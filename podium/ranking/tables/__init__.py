"""Any table of scores as cohorts that can be ranked: for challenges that were not scored by Podium."""
