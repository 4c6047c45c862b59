"""The command line: one module per group of commands."""

from podium.cli.main import main

__all__ = ["main"]
