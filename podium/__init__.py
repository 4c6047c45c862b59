"""Podium: the evaluation container for medical-imaging challenges, and the tools around it."""

__version__ = "0.1.0"
