"""The configurations and scripts of docs/platforms.md are complete and work."""

import re
import subprocess
import sys
from pathlib import Path

import yaml
from places import ROOT
from tools.other_platforms.running import ground_truth, sample

from podium.cli.main import load_command
from podium.cli.score import paths
from podium.tools.other_platforms.results import read_parameters

PAGE = (ROOT / "docs/platforms.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_the_two_scripts_of_orca(tmp_path: Path) -> None:
    file = str(sample("reports", "wisdom") / "reports.json")  # the fastest kind; its folder is then called carotid
    statuses = []
    for script in blocks("python"):
        (tmp_path / "script.py").write_text(script)
        words = [sys.executable, str(tmp_path / "script.py"), "-p", file, "-g", str(ground_truth("reports"))]
        environment = {"PYTHONPATH": ":".join(sys.path)}
        done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
        statuses.append(done.stdout)
    assert statuses == ["VALIDATED\n", "SCORED\n"]
    assert (tmp_path / "results.json").stat().st_size > 500


def test_medperfs_volumes_are_our_defaults(tmp_path: Path) -> None:
    command, container, parameters, _ = map(yaml.safe_load, blocks("yaml"))
    task = container["tasks"]["evaluate"]
    volumes = {**task["input_volumes"], **task["output_volumes"]}
    options = load_command("evaluate")[1].read(task["run_args"]["command"])
    mounted = {name: volume["mount_path"] for name, volume in volumes.items()}
    assert {name: str(path) for name, path in paths(options).items()} == mounted
    (tmp_path / "parameters.yaml").write_text(blocks("yaml")[2])
    assert read_parameters(tmp_path / "parameters.yaml") == parameters["challenge"]
    assert command["command"] == "podium evaluate --platform codabench --challenge carotid"
