"""The container's entrypoint: `podium evaluate`, or `podium invoke` in an image that was built with `--api invoke`."""

import os
import sys

from podium.cli import main

if __name__ == "__main__":
    command = "invoke" if os.environ.get("PODIUM_API") == "invoke" else "evaluate"
    raise SystemExit(main([command, *sys.argv[1:]]))
