"""The job script of docs/cluster.md works: here with two workers in place of the tasks that Slurm would start."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from evaluating import evaluate_command
from places import ROOT
from tools.batch.challenge_of_reports import all_metrics

pytestmark = pytest.mark.slow

pytest.importorskip("distributed")


SRUN = '"$@" & first=$!; "$@" & second=$!; trap "kill $first $second" TERM; wait'


def write_program(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/bash\n{text}\n")
    path.chmod(0o755)


def test_the_job_script_for_slurm(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "cluster.md").read_text(encoding="utf-8")
    script = re.search(r"^```bash\n(#!/bin/bash\n#SBATCH.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert script
    write_program(tmp_path / "podium.sbatch", script[1].removeprefix("#!/bin/bash\n"))
    for name in ("dask", "podium"):
        write_program(tmp_path / "bin" / name, f'exec {sys.executable} -m {name} "$@"')
    write_program(tmp_path / "bin" / "srun", SRUN)
    shared, samples = tmp_path / "shared", ROOT / "test" / "submissions" / "reports"
    shutil.copytree(samples, shared / "submissions")
    shutil.copytree(ROOT / "ground-truth" / "reports", shared / "ground-truth" / "reports")
    variables = {
        "SHARED": str(shared),
        "CHALLENGE": "reports",
        "PODIUM": str(tmp_path / "bin"),
        "SLURM_JOB_ID": "7",
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
    }
    command, environment = [tmp_path / "podium.sbatch"], {**os.environ, **variables}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for team in samples.iterdir():
        output = tmp_path / "single" / "teams" / team.name
        evaluate_command(shared / "submissions" / team.name, shared / "ground-truth" / "reports", output)
    assert all_metrics(shared / "output") == all_metrics(tmp_path / "single")


def test_the_files_for_kubernetes_fit_together() -> None:
    page = (ROOT / "docs" / "cluster.md").read_text(encoding="utf-8")
    found = re.search(r"^```yaml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert found
    cluster, job = yaml.safe_load_all(found[1])
    assert [each["kind"] for each in (cluster, job)] == ["DaskCluster", "Job"]
    worker, scheduler = cluster["spec"]["worker"]["spec"], cluster["spec"]["scheduler"]
    batch = job["spec"]["template"]["spec"]
    containers = [each["containers"][0] for each in (worker, scheduler["spec"], batch)]
    assert len({each["image"] for each in containers}) == 1
    assert worker["volumes"] == batch["volumes"]
    assert containers[0]["volumeMounts"] == containers[2]["volumeMounts"]
    named = {each["name"]: each["containerPort"] for each in containers[1]["ports"]}
    assert {each["targetPort"]: each["port"] for each in scheduler["service"]["ports"]} == named
    assert containers[2]["command"][-1] == f"tcp://{cluster['metadata']['name']}-scheduler:{named['tcp-comm']}"
