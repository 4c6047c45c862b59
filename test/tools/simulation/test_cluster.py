"""Simulated interaction on a Dask cluster: the files of one machine, and only where the resources are."""

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from challenges.lesions_folders import LESION, NOTHING, write
from places import ROOT
from tools.batch.local_cluster import LocalCluster

from podium.cli.main import main
from podium.errors import UsageError
from podium.tools.batch.dask import Dask

pytestmark = pytest.mark.slow

pytest.importorskip("distributed")


# Fails where another case is simulated at the same time, and tells which worker it is run by.
ALONE = """
import os, subprocess, sys, time
from pathlib import Path
lock = Path(sys.argv[1])
lock.mkdir()
time.sleep(0.1)
Path(sys.argv[2]).write_text(os.environ["WORKER"])
code = subprocess.call([sys.executable, *sys.argv[3:]])
lock.rmdir()
sys.exit(code)
"""


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[LocalCluster]:
    """One worker with a GPU and one without; each could work on two cases at the same time."""
    cluster = LocalCluster(tmp_path, workers=0)
    for more in (["--resources", "GPU=1"], []):
        name = "with" if more else "without"
        before = ["env", f"WORKER={name}"]
        cluster.workers.append(cluster.add_worker("--nthreads", "2", *more, before=before))
    cluster.wait_for_workers(2)
    yield cluster
    cluster.stop()


def write_cases(folder: Path) -> list[str]:
    for case, reference in (("a", LESION), ("b", NOTHING), ("c", LESION)):
        write(folder / f"references/{case}.nii.gz", reference)
        for channel in ("_0000", "_0001"):
            write(folder / f"images/{case}{channel}.nii.gz", reference.astype(np.float32))
    return ["--images", str(folder / "images"), "--references", str(folder / "references"), "--steps", "2"]


def predictions(folder: Path) -> dict[str, bytes]:
    found = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("iter_*")}
    assert found
    return found


def test_teams_and_cases_run_where_the_gpu_is_one_at_a_time(
    cluster: LocalCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = write_cases(tmp_path)
    (tmp_path / "alone.py").write_text(ALONE)
    threshold = f"{ROOT / 'test/algorithms/threshold/process.py'} {{input}} {{output}}"
    alone = f"command:{sys.executable} {tmp_path / 'alone.py'} {tmp_path / 'lock'} {tmp_path / 'worker'} {threshold}"
    teams = ["--algorithm", f"one={alone}", "--algorithm", f"two={alone}"]
    there = [*teams, *given, "--output", str(tmp_path / "there"), "--scheduler", cluster.address]
    assert main(["simulate", *there, "--resources", "GPU=1"]) == 0
    assert capsys.readouterr().err.endswith(f"Simulated 3 cases of 2 steps for each of 2 teams: {tmp_path / 'there'}\n")
    assert (tmp_path / "worker").read_text() == "with"
    local = ["simulate", "--algorithm", f"command:{sys.executable} {threshold}", *given]
    assert main([*local, "--output", str(tmp_path / "here")]) == 0
    for team in ("one", "two"):
        assert predictions(tmp_path / "there" / team) == predictions(tmp_path / "here")
    shutil.rmtree(tmp_path / "there/two/c")
    capsys.readouterr()
    assert main(["simulate", *there, "--resources", "GPU=1"]) == 0
    assert capsys.readouterr().err.count("(from an earlier run)") == 2 * 3 * 2 - 2
    assert predictions(tmp_path / "there" / "two") == predictions(tmp_path / "here")


def test_resources_that_no_worker_has(cluster: LocalCluster) -> None:
    executor = Dask(address=cluster.address, patience_seconds=1.0, resources={"GPU": 2})
    with pytest.raises(UsageError, match=r"^No worker offers GPU=2: start one with --resources 'GPU=2'\.$"):
        executor.run(["a"], str.upper, label="testing")


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (["--algorithm", "command:true", "--resources", "GPU=1"], "--resources are those of Dask workers"),
        (["--algorithm", "command:true", "--algorithm", "b=command:true"], "Several algorithms need the names"),
        (["--algorithm", "b=command:true", "--algorithm", "b=command:true"], "Several algorithms need the names"),
    ],
)
def test_options_that_do_not_fit(
    more: list[str], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["simulate", *more, *write_cases(tmp_path), "--output", str(tmp_path / "output")]) == 2
    assert sentence in capsys.readouterr().err
