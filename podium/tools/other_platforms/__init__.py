"""Other platforms than Grand Challenge: their paths in, their files out, around the same evaluation.

Every adapter publishes figures of metrics.json and computes none.
"""
