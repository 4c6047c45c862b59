"""The command line: one module per command."""

from podium.cli.main import main

__all__ = ["main"]
