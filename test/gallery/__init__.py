"""The gallery's entries: what is in them, what they must score, and the tests."""
