"""Whole evaluations while their processes are killed: metrics.json must be the same, byte for byte.

    python bench/under_fire.py [--runs N] [--cases N] [--seconds S] [--seed N]

A random process of the evaluation but its first (workers, zygotes and their spares, decoders) gets SIGKILL every S
seconds on average, from its start to its end, so also while the references are checked. Ends with code 1 where a run
differs.
"""

import argparse
import ctypes
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import h5py
import numpy as np
from carotid_masks import reference_and_prediction
from whole_run import processes_below

REPOSITORY = Path(__file__).resolve().parents[1]
DRAWN = 30
SEED = 20260
_BE_THE_PARENT_OF_ORPHANS = 36  # prctl: a spare whose zygote was killed stays below us


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20, metavar="N", help="evaluations under fire [%(default)s]")
    parser.add_argument("--cases", type=int, default=300, metavar="N", help="carotid cases [%(default)s]")
    parser.add_argument("--seconds", type=float, default=0.5, metavar="S", help="between two kills [%(default)s]")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the kills [%(default)s]")
    options = parser.parse_args()
    ctypes.CDLL(None).prctl(_BE_THE_PARENT_OF_ORPHANS, 1, 0, 0, 0)
    identical = kills = 0
    with TemporaryDirectory(prefix="podium-bench-") as temporary:
        folder = write_cases(Path(temporary), options.cases)
        expected, _ = evaluate(folder, None, 0)
        for number in range(options.runs):
            began = time.monotonic()
            found, landed = evaluate(folder, random.Random(options.seed + number), options.seconds)
            identical, kills = identical + (found == expected), kills + landed.total()
            where = ", ".join(f"{count} {name}" for name, count in sorted(landed.items()))
            verdict = "identical" if found == expected else f"DIFFERENT: {difference(found, expected)}"
            print(f"run {number + 1}: {verdict}, {time.monotonic() - began:.1f} s, killed: {where}", flush=True)
    print(f"{identical} of {options.runs} runs identical, {kills} kills landed")
    return int(identical < options.runs)


def write_cases(folder: Path, cases: int) -> Path:
    """A few carotid cases under many names."""
    references, submission = folder / "ground-truth/references", folder / "submission"
    references.mkdir(parents=True)
    submission.mkdir()
    shutil.copy(REPOSITORY / "ground-truth/carotid/challenge.toml", folder / "ground-truth")
    for number in range(cases):
        paths = (references / f"c{number}_label.h5", submission / f"c{number}_pred.h5")
        if number >= DRAWN:
            for path in paths:
                os.link(path.with_name(path.name.replace(f"c{number}_", f"c{number % DRAWN}_")), path)
            continue
        rng = np.random.default_rng([SEED, number])
        views = {view: reference_and_prediction(rng, view) for view in ("long", "trans")}
        for place, path in enumerate(paths):
            with h5py.File(path, "w") as file:
                for view, pair in views.items():
                    file.create_dataset(f"{view}_mask", data=pair[place], compression="gzip")
                file["cls"] = number % 2
    return folder


def evaluate(folder: Path, chance: random.Random | None, seconds: float) -> tuple[bytes, Counter[str]]:
    """metrics.json (empty where there is none), and what was killed."""
    with TemporaryDirectory(prefix="podium-bench-") as output:
        paths = {"--input": folder / "submission", "--output": output, "--ground-truth": folder / "ground-truth"}
        command = [sys.executable, "-m", "podium", "evaluate", "--workers", "2"]
        command += [str(word) for pair in paths.items() for word in pair]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        killed: Counter[str] = Counter()
        while chance and process.poll() is None:
            time.sleep(chance.expovariate(1 / seconds))
            others = {pid: parent for pid, parent in running_below(os.getpid()).items() if pid != process.pid}
            if others:
                pid = chance.choice(sorted(others))
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                    killed["worker or zygote" if others[pid] == process.pid else "spare or decoder"] += 1
        _, said = process.communicate()
        metrics = Path(output, "metrics.json")
        if process.returncode or not metrics.is_file():
            print(f"exit code {process.returncode}: {said.strip().splitlines()[-1:]}", file=sys.stderr)
            return b"", killed
        return metrics.read_bytes(), killed


def running_below(pid: int) -> dict[int, int]:
    """The processes below `pid` that have not ended, with their parents."""
    found = {}
    for each in processes_below(pid)[1:]:
        with suppress(OSError):
            state, parent = Path(f"/proc/{each}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[:2]
            if state != "Z":
                found[each] = int(parent)
    return found


def difference(found: bytes, expected: bytes) -> str:
    """The first row that differs."""
    if not found:
        return "no metrics.json"
    pairs = zip(json.loads(found)["results"], json.loads(expected)["results"], strict=True)
    return next((str(ours) for ours, theirs in pairs if ours != theirs), "not in the rows")


if __name__ == "__main__":
    sys.exit(main())
