"""A report as files: the page, and beside it every figure as SVG and PDF."""
