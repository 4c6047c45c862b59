"""Generators of the sample data: the same bytes on every run, so that what is committed can be checked."""
