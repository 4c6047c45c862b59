"""One plot per file: plain arrays in, an Exhibit (SVG, words, table) out. They know no challenge and no file."""
