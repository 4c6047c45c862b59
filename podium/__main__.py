"""`python -m podium`, the same as the `podium` command."""

from podium.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
