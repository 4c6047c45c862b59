"""Hostile files in; plain, checked arrays and values out."""
