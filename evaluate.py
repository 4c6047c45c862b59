"""The container's entrypoint: `python evaluate.py` is `podium evaluate`."""

import sys

from podium.cli import main

if __name__ == "__main__":
    raise SystemExit(main(["evaluate", *sys.argv[1:]]))
