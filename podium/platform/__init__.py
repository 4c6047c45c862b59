"""What Grand Challenge gives and expects: a submission in, metrics.json out."""
