"""ODIN 2026: radiology report generation (BLEU and METEOR here; RadFact by `podium judge`, offline).

One case is one free-text report; see docs/reports.md for the rules and their sources.
"""
