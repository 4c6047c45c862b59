"""A line of the table of scripts/bench.sh, and how its figures are found."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from whole_run import Measured, measure

BUFFER_BYTES = 1 << 22
SMALL_GIGABYTES = 0.05


@dataclass(frozen=True, kw_only=True)
class Row:
    """The best run of each side. `gigabytes` are the files as they lie on the disk; `reading_seconds` is reading them
    from end to end by one thread, from the same cache."""

    subject: str
    what: str
    seconds: float
    cpu_seconds: float | None = None
    peak_mebibytes: float | None = None
    gigabytes: float | None = None
    reading_seconds: float | None = None
    other_speed: str = ""
    peer: str = ""
    peer_seconds: float | None = None

    @property
    def speed(self) -> str:
        small = self.gigabytes is None or self.gigabytes < SMALL_GIGABYTES
        return self.other_speed or ("" if small else f"{self.gigabytes / self.seconds:.2f} GB/s")

    @property
    def of_reading(self) -> float | None:
        """None for small files, whose reading takes next to no time."""
        if self.reading_seconds is None or (self.gigabytes or 0) < SMALL_GIGABYTES:
            return None
        return self.seconds / self.reading_seconds

    @property
    def times_faster(self) -> float | None:
        return None if self.peer_seconds is None else self.peer_seconds / self.seconds


def whole_row(  # noqa: PLR0913  (what a line of the table says)
    subject: str,
    what: str,
    command: Sequence[str],
    *,
    runs: int,
    files: Iterable[Path] = (),
    peer: str = "",
    peer_command: Sequence[str] = (),
    agree: Callable[[str], None] = lambda _: None,
) -> Row:
    """A whole command from its start to its end, beside that of the peer, in turns; `agree` is given what the peer
    printed and raises where the figures differ."""
    ours: list[Measured] = []
    theirs: list[Measured] = []
    for _ in range(runs):
        ours.append(measure(command))
        if peer_command:
            theirs.append(measure(peer_command))
            agree(theirs[-1].printed)
    read = [path for folder in files for path in sorted(folder.rglob("*")) if path.is_file()]
    return Row(
        subject=subject,
        what=what,
        seconds=min(run.seconds for run in ours),
        cpu_seconds=min(run.cpu_seconds for run in ours),
        peak_mebibytes=max(run.tree_bytes for run in ours) / 2**20,
        gigabytes=sum(path.stat().st_size for path in read) / 1e9 if read else None,
        reading_seconds=best(lambda: read_through(read), runs=runs) if read else None,
        peer=peer,
        peer_seconds=min(run.seconds for run in theirs) if theirs else None,
    )


def read_through(paths: Iterable[Path]) -> None:
    buffer = bytearray(BUFFER_BYTES)
    for path in paths:
        with path.open("rb", buffering=0) as stream:
            while stream.readinto(buffer):
                pass


def best(work: Callable[[], object], *, runs: int) -> float:
    """Seconds by the clock of the fastest of some runs."""
    found = []
    for _ in range(runs):
        began = time.perf_counter()
        work()
        found.append(time.perf_counter() - began)
    return min(found)
