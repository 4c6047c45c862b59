"""The processes of a sandbox, as the kernel lists them."""

from pathlib import Path


def children(pid: int) -> list[int]:
    """Those that the first thread has started; none where the process has ended."""
    try:
        return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()]
    except OSError:
        return []


def has_ended(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True
