"""Before a phase opens: a challenge.toml from a starter kit, sample submissions, and the page for participants."""
