"""The job script of docs/cluster.md works: here with two workers in place of the tasks that Slurm would start."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("distributed")

from batch.challenge_of_reports import all_metrics
from evaluating import evaluate_command

PROJECT = Path(__file__).resolve().parents[2]
SRUN = '"$@" & first=$!; "$@" & second=$!; trap "kill $first $second" TERM; wait'


def write_program(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/bash\n{text}\n")
    path.chmod(0o755)


def test_the_job_script_for_slurm(tmp_path: Path) -> None:
    page = (PROJECT / "docs" / "cluster.md").read_text(encoding="utf-8")
    script = re.search(r"^```bash\n(#!/bin/bash\n#SBATCH.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert script
    write_program(tmp_path / "podium.sbatch", script[1].removeprefix("#!/bin/bash\n"))
    for name in ("dask", "podium"):
        write_program(tmp_path / "bin" / name, f'exec {sys.executable} -m {name} "$@"')
    write_program(tmp_path / "bin" / "srun", SRUN)
    shared, samples = tmp_path / "shared", PROJECT / "test" / "submissions" / "reports"
    shutil.copytree(samples, shared / "submissions")
    shutil.copytree(PROJECT / "ground-truth" / "reports", shared / "ground-truth")
    variables = {
        "SHARED": str(shared),
        "PODIUM": str(tmp_path / "bin"),
        "SLURM_JOB_ID": "7",
        "PYTHONPATH": os.pathsep.join([str(PROJECT), os.environ.get("PYTHONPATH", "")]),
    }
    done = subprocess.run(
        [tmp_path / "podium.sbatch"],
        env={**os.environ, **variables},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[-1] == "3 of 3 teams have scores; 59 cases were scored in this run."
    for team in samples.iterdir():
        evaluate_command(
            shared / "submissions" / team.name, shared / "ground-truth", tmp_path / "single" / "teams" / team.name
        )
    assert all_metrics(shared / "output") == all_metrics(tmp_path / "single")
