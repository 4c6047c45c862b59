"""The container's entrypoint: `podium evaluate`, or `podium invoke` in an image that was built with `--api invoke`."""

import os
import sys
import warnings

from podium.cli import main


def keep_streams_clean() -> None:
    """Let nothing but Podium write to stdout and stderr: the platform drops the result of a run that printed a byte
    that is not UTF-8, and shows participants what is on stderr.

    Libraries in C write to descriptors 1 and 2 whatever they like, such as bytes of a submitted file: that is
    discarded. Warnings of Python have paths of the container; they go to the organiser's log.
    """
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for name, number in (("stdout", 1), ("stderr", 2)):
        getattr(sys, name).flush()
        own = os.dup(number)
        stream = open(own, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
        setattr(sys, name, stream)
        os.dup2(nowhere, number)
    os.close(nowhere)
    warnings.showwarning = lambda *found, **_: print(warnings.formatwarning(*found[:4]), end="", flush=True)


if __name__ == "__main__":
    keep_streams_clean()
    command = "invoke" if os.environ.get("PODIUM_API") == "invoke" else "evaluate"
    raise SystemExit(main([command, *sys.argv[1:]]))
