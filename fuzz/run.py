"""Fuzzes all targets, or the named ones, dividing the time: `python fuzz/run.py MINUTES [TARGET ...]`.

What was learned is kept in .fuzz/corpus/, findings are in .fuzz/found/. The exit code is 1 where there is a finding: an
error that is not a refusal, more memory than allowed, or a hang.

Files can also end the process inside of SimpleITK or HDF5. That is no finding: such files cost their own case, because
these libraries read submitted files in processes of their own. They are counted and kept, and the target goes on.
"""

import contextlib
import hashlib
import io
import os
import sys
import tempfile
import time
from itertools import count
from pathlib import Path
from typing import NoReturn

import atheris

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

# It names every module; imported once, for all targets: that takes longer than CI has for each of them.
with contextlib.redirect_stderr(io.StringIO()), atheris.instrument_imports(include=["podium"]):
    from seeds import seeds
    from targets import TARGETS, run_once

KEPT = ROOT / ".fuzz"
MEMORY_MB = 2000
HANG_SECONDS = 60
LIBRARY_CRASH = "libFuzzer: deadly signal"
DECODED_APART = ("mha", "nii", "nii-gz", "nii-in-gz", "tiff", "png", "hdf5")


def main() -> int:
    """See the module."""
    names = sys.argv[2:] or list(TARGETS)
    if len(sys.argv) < 2 or sys.argv[1].startswith("-") or set(names) - set(TARGETS):
        print(f"usage: scripts/fuzz.sh MINUTES [TARGET ...]\ntargets: {' '.join(TARGETS)}", file=sys.stderr)
        return 2
    seconds = max(1, round(60 * float(sys.argv[1]) / len(names)))
    found = [name for name in names if not _fuzz(name, seconds)]
    if found:
        print(f"Found something in: {', '.join(found)}. The inputs are in {KEPT / 'found'}; each needs a test.")
    return 1 if found else 0


def _fuzz(name: str, seconds: int) -> bool:
    """Whether nothing was found."""
    corpus, found = KEPT / "corpus" / name, KEPT / "found" / name
    for folder in (corpus, found):
        folder.mkdir(parents=True, exist_ok=True)
    for content in seeds()[name]:
        (corpus / hashlib.sha256(content).hexdigest()[:16]).write_bytes(content)
    end = time.monotonic() + seconds
    crashes = tried = 0
    while (left := round(end - time.monotonic())) > 0:
        options = [f"-max_total_time={left}", f"-artifact_prefix={found}/", f"-seed={crashes + 1}", str(corpus)]
        code, text = _in_child(name, options, log=found / "log.txt")
        tried += sum(int(line.split()[-1]) for line in text.splitlines() if "stat::number_of_executed_units" in line)
        if not code:
            break
        if name not in DECODED_APART or LIBRARY_CRASH not in text:
            print(f"{name}: FOUND\n{text[-5000:]}", flush=True)
            return False
        crashes += 1
    print(f"{name}: {tried:,} inputs in {seconds} s, {crashes} crashes of a library", flush=True)
    return True


def _in_child(name: str, options: list[str], *, log: Path) -> tuple[int, str]:
    """The exit code, 0 for nothing found, and what libFuzzer wrote."""
    memory = Path("/dev/shm")  # one file per input: a disk would be slower than the readers
    with tempfile.TemporaryDirectory(prefix="podium-fuzz-", dir=memory if memory.is_dir() else None) as folder:
        child = os.fork()
        if not child:
            _run(name, options, log=log, folder=Path(folder))
        _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status), log.read_text(errors="replace")


def _run(name: str, options: list[str], *, log: Path, folder: Path) -> NoReturn:
    with log.open("wb") as stream:
        os.dup2(stream.fileno(), 1)
        os.dup2(stream.fileno(), 2)
    target, numbers = TARGETS[name], count()
    limits = [f"-max_len={target.longest}", f"-rss_limit_mb={MEMORY_MB}", f"-timeout={HANG_SECONDS}"]
    atheris.Setup(
        [sys.argv[0], *options, *limits, "-print_final_stats=1"],
        lambda content: run_once(target, folder / str(next(numbers)), content),
    )
    atheris.Fuzz()
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main())
