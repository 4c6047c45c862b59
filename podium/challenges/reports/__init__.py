"""ODIN 2026: radiology report generation."""
