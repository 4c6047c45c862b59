"""What the platform gives and expects: a submission in, metrics.json out, errors in words."""
