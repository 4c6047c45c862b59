"""What to give an evaluation: seconds and memory of the real command, for the samples and for a realistic size.

    .venv/bin/python bench/resources.py [--workers N]

Everything is made on the fly from fixed seeds (2 GB below TMPDIR) and removed afterwards. docs/organisers.md has the
figures.
"""

import argparse
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import carotid
import freehand
import h5py
import lesions
import reports
from rich import box
from rich.console import Console
from rich.table import Table
from whole_run import measure

REPOSITORY = Path(__file__).resolve().parents[1]
TEAMS = {"carotid": "aorta", "freehand": "fathom", "lesions": "ember", "reports": "cuspid"}
FRAMES = 300
SCANS = tuple(f"{arm}_Par_S_{way}" for arm in ("LH", "RH") for way in ("DtP", "PtD"))
LESION_CASES = 10
FREEHAND = 'kind = "freehand"\ntitle = "Benchmark"\nversion = "1"\nper_case = "full"\n'
Paths = tuple[Path, Path]  # the submission and the ground truth


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=2, metavar="N", help="worker processes [%(default)s]")
    workers = parser.parse_args().workers
    table = Table(title=f"podium evaluate, {workers} workers, load {os.getloadavg()[0]:.1f}", box=box.SIMPLE)
    for title in ("kind", "what", "seconds", "of CPU", "memory, all processes"):
        table.add_column(title, justify="left" if title in ("kind", "what") else "right")
    for kind, team in TEAMS.items():
        sample = (REPOSITORY / "test/submissions" / kind / team, REPOSITORY / "ground-truth" / kind)
        add_row(table, kind, "sample", sample, workers)
    for kind, what, write in REALISTIC:
        with TemporaryDirectory(prefix="podium-bench-") as temporary:
            add_row(table, kind, what, write(Path(temporary)), workers)
    Console().print(table)


def add_row(table: Table, kind: str, what: str, paths: Paths, workers: int) -> None:
    with TemporaryDirectory(prefix="podium-bench-") as output:
        words = [sys.executable, "-m", "podium", "evaluate", "--workers", str(workers), "--output", output]
        found = measure([*words, "--input", str(paths[0]), "--ground-truth", str(paths[1])])
    memory = f"{found.tree_bytes / 2**20:.0f} MiB"
    table.add_row(kind, what, f"{found.seconds:.1f}", f"{found.cpu_seconds:.1f}", memory)


def write_carotid(folder: Path) -> Paths:
    carotid.write_cases(folder, carotid.CASES)
    return folder / "submission", folder / "ground-truth"


def write_reports(folder: Path) -> Paths:
    reports.write_cases(folder)
    return folder / "texts", folder / "truth"


def write_lesions(folder: Path) -> Paths:
    truth, submission = folder / "ground-truth", folder / "submission"
    for number in range(LESION_CASES):
        prediction, reference = lesions.pair_of(lesions.LESIONS[number % 2])
        lesions.write(truth / f"references/case{number}.nii.gz", reference)
        first = submission / f"case{number}/iter_0.nii.gz"
        lesions.write(first, prediction)
        for step in range(1, lesions.STEPS):
            shutil.copy(first, first.with_name(f"iter_{step}.nii.gz"))
    (truth / "challenge.toml").write_text(lesions.CHALLENGE, encoding="utf-8")
    return submission, truth


def write_freehand(folder: Path) -> Paths:
    """One sweep under four names; the fields are linked, since only reading them takes time."""
    truth, submission = folder / "ground-truth", folder / "submission"
    poses = freehand.sweep(FRAMES)
    freehand.write_truth(truth, poses)
    (truth / "challenge.toml").write_text(FREEHAND, encoding="utf-8")
    fields = submission / f"sub050__{SCANS[0]}"
    freehand.write_fields(fields, freehand.guessed_transforms(poses))
    poses_file = truth / f"references/transfs/050/{SCANS[0]}.h5"
    with h5py.File(truth / "references/landmark/landmark_050.h5", "a") as landmarks:
        for scan in SCANS:
            if scan not in landmarks:
                landmarks[scan] = landmarks[freehand.SCAN.partition("__")[2]][()]
                shutil.copy(poses_file, poses_file.with_name(f"{scan}.h5"))
                shutil.copytree(fields, submission / f"sub050__{scan}", copy_function=os.link)
    return submission, truth


REALISTIC: tuple[tuple[str, str, Callable[[Path], Paths]], ...] = (
    ("carotid", f"{carotid.CASES} cases of two 512 x 512 views", write_carotid),
    ("freehand", f"{len(SCANS)} scans of {FRAMES} frames, fields in .npy (9 GB)", write_freehand),
    ("lesions", f"{LESION_CASES} cases of 6 steps of 400 x 400 x 326", write_lesions),
    ("reports", f"{reports.CASES} reports", write_reports),
)

if __name__ == "__main__":
    main()
