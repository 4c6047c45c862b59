"""Simulated interaction: scribbles where a prediction is wrong, and algorithms driven by them. An offline tool."""
