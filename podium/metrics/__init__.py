"""Pure functions on arrays, labels and strings; they know no challenge and no file."""
