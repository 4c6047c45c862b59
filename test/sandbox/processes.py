"""What the processes of a sandbox have started."""

from pathlib import Path


def children(pid: int) -> list[int]:
    """Those of its first thread; none where it has ended."""
    try:
        return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()]
    except OSError:
        return []
