"""Whole evaluations while their workers and decoders are killed: how many give the same metrics.json, byte for byte.

    python bench/under_fire.py [--runs N] [--cases N] [--seconds S] [--seed N]

A random worker or decoder gets SIGKILL every S seconds on average, also while the references are checked. A case has
one more try: a run differs where the second is killed as well. Ends with code 1 where a run differs.
"""

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import carotid
from whole_run import processes_below

from podium.kernel import DECODER_OOM_SCORE, WORKER_OOM_SCORE

REPOSITORY = Path(__file__).resolve().parents[1]
DRAWN = 30


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20, metavar="N", help="evaluations under fire [%(default)s]")
    parser.add_argument("--cases", type=int, default=300, metavar="N", help="carotid cases [%(default)s]")
    parser.add_argument("--seconds", type=float, default=0.5, metavar="S", help="between two kills [%(default)s]")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the kills [%(default)s]")
    options = parser.parse_args()
    identical = 0
    with TemporaryDirectory(prefix="podium-bench-") as temporary:
        folder = write_cases(Path(temporary), options.cases)
        expected, _ = evaluate(folder, None, 0)
        for number in range(options.runs):
            found, kills = evaluate(folder, random.Random(options.seed + number), options.seconds)
            identical += found == expected
            print(f"run {number + 1}: {'identical' if found == expected else 'DIFFERENT'}, {kills} kills", flush=True)
    print(f"{identical} of {options.runs} runs identical")
    return int(identical < options.runs)


def write_cases(folder: Path, cases: int) -> Path:
    """A few carotid cases under many names."""
    carotid.write_cases(folder, min(cases, DRAWN))
    shutil.copy(REPOSITORY / "ground-truth/carotid/challenge.toml", folder / "ground-truth")
    for number in range(DRAWN, cases):
        for name in ("ground-truth/references/c{}_label.h5", "submission/c{}_pred.h5"):
            os.link(folder / name.format(number % DRAWN), folder / name.format(number))
    return folder


def evaluate(folder: Path, chance: random.Random | None, seconds: float) -> tuple[bytes, int]:
    """metrics.json (empty where there is none), and the number of kills."""
    with TemporaryDirectory(prefix="podium-bench-") as output:
        paths = {"--input": folder / "submission", "--output": output, "--ground-truth": folder / "ground-truth"}
        command = [sys.executable, "-m", "podium", "evaluate", "--workers", "2"]
        command += [str(word) for pair in paths.items() for word in pair]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        kills = 0
        while chance and process.poll() is None:
            time.sleep(chance.expovariate(1 / seconds))
            if replaceable := [pid for pid in processes_below(process.pid) if is_replaceable(pid)]:
                with suppress(ProcessLookupError):
                    os.kill(chance.choice(replaceable), signal.SIGKILL)
                    kills += 1
        _, printed = process.communicate()
        metrics = Path(output, "metrics.json")
        if process.returncode or not metrics.is_file():
            print(f"exit code {process.returncode}: {printed.strip().splitlines()[-1:]}", file=sys.stderr)
            return b"", kills
        return metrics.read_bytes(), kills


def is_replaceable(pid: int) -> bool:
    """Whether it is a worker or a decoder that has not ended."""
    with suppress(OSError):
        score = int(Path(f"/proc/{pid}/oom_score_adj").read_text(encoding="ascii"))
        return score in (WORKER_OOM_SCORE, DECODER_OOM_SCORE)
    return False


if __name__ == "__main__":
    sys.exit(main())
