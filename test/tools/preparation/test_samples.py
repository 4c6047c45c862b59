"""`podium sample`: what the submissions that it makes from the references score, for every challenge there is."""

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
import SimpleITK as sitk
from places import ROOT

from podium import evaluate
from podium.challenges import load_challenge
from podium.challenges.challenge import AnyChallenge
from podium.challenges.ground_truth import read_challenge_folder
from podium.cli import main
from podium.execution.executor import Serial
from podium.figures import get, holds
from podium.platform.metrics_file import MetricsFile

CHALLENGES = sorted(
    file.parent for place in ("ground-truth", "gallery") for file in ROOT.glob(f"{place}/*/challenge.toml")
)
LEVELS = ("perfect", "noisy-1", "noisy-2", "noisy-3")


def challenge_of(folder: Path) -> AnyChallenge:
    return load_challenge(read_challenge_folder(folder, name=folder.name))


def make_samples(folder: Path, output: Path) -> Path:
    assert main(["sample", "--ground-truth", str(folder), "--output", str(output)]) == 0
    return output


def scored(sample: Path, folder: Path) -> MetricsFile:
    return evaluate(sample, ground_truth=folder, executor=Serial())


def ranked_figures(challenge: AnyChallenge, aggregates: Mapping[str, object]) -> dict[str, float]:
    """What teams are ranked by, the higher the better; the first figures of reports, which the judge ranks."""
    paths = [each.path for each in challenge.ranking.criteria if holds(aggregates, each.path)]
    found = {}
    for path in paths or challenge.scoreboard.leaderboard[:2]:
        figure = challenge.scoreboard.names.find(path)
        assert figure is not None
        if holds(aggregates, path):
            found[path] = get(aggregates, path) * (1 if figure.direction == "higher" else -1)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("folder", CHALLENGES, ids=lambda path: path.name)
def test_a_perfect_sample_is_best_and_noise_makes_it_worse_step_by_step(folder: Path, tmp_path: Path) -> None:
    challenge, samples = challenge_of(folder), make_samples(folder, tmp_path / "samples")
    *others, shape = sorted(samples.iterdir())
    levels = [
        scored(path, folder) for path in [*(shape / name for name in LEVELS), *(each / "perfect" for each in others)]
    ]
    assert {result.status for level in levels for result in level.results} == {"scored"}
    assert not any(level.counts.unmatched for level in levels)
    figures = [ranked_figures(challenge, level.aggregates) for level in levels]
    for path, best in figures[0].items():
        column = [level[path] for level in figures[: len(LEVELS)]]
        assert column == sorted(column, reverse=True), path
        assert all(level[path] == pytest.approx(best) for level in figures[len(LEVELS) :]), path
    assert figures[len(LEVELS) - 1] != figures[0]
    for broken in sorted(shape.glob("broken-*")):
        found = scored(broken, folder)
        is_list = broken.name in ("broken-missing", "broken-misnamed") and folder.name == "midog"
        assert [result.status == "scored" for result in found.results].count(False) == 1 or is_list, broken.name
        assert found.results[0].status != "scored"
        assert found.counts.unmatched == (broken.name == "broken-misnamed") * max(1, found.counts.unmatched)
        for path, figure in ranked_figures(challenge, found.aggregates).items():
            assert figure <= figures[0][path], (broken.name, path)


TOML = """
kind = "declared"
title = "Every kind of value"
version = "1"
per_case = "full"
[cases]
input = "ct"
[values.kidneys]
kind = "labels"
socket = "kidneys"
file = "masks/{case}.png"
reference = "masks/{case}.png"
labels = [{ left = 10, right = 20 }, { left = 1, right = 2 }]
[values.scan]
kind = "image"
socket = "scan"
file = "scans/{case}.mha"
reference = "scans/{case}.mha"
[values.lesions]
kind = "detection_map"
socket = "lesions"
file = "lesions/{case}.nii.gz"
reference = "lesions/{case}.nii.gz"
[values.age]
kind = "number"
socket = "age"
pointer = "/patient/age"
file = "facts/{case}.json"
reference = "facts/{case}.json"
range = [0, 100]
[values.sex]
kind = "class"
socket = "sex"
pointer = "/sex"
file = "facts/{case}.json"
reference = "facts/{case}.json"
classes = { female = "F", male = "M" }
[values.grade]
kind = "probability"
socket = "grade"
table = "grades.csv"
column = ["low", "mid", "high"]
reference_table = "true.csv"
reference_column = "grade"
classes = { low = 1, mid = 2, high = 3 }
[values.nodes]
kind = "points"
socket = "nodes"
table = "nodes.csv"
unit = "mm"
[values.boxes]
kind = "boxes"
socket = "boxes"
file = "boxes/{case}.json"
reference = "boxes/{case}.json"
unit = "index"
[values.corners]
kind = "landmarks"
socket = "corners"
file = "corners/{case}.json"
reference = "corners/{case}.json"
unit = "mm"
[values.signs]
kind = "findings"
socket = "signs"
table = "signs.csv"
columns = ["effusion", "mass"]
[values.report]
kind = "text"
socket = "report"
file = "{case}.txt"
reference = "{case}.txt"
[values.survival]
kind = "survival"
socket = "survival"
prediction = "time"
table = "survival.json"
column = "months"
reference_table = "true.csv"
[[metrics]]
kind = "dice"
[[metrics]]
kind = "psnr"
data_range = [0, 255]
failed = 0
[[metrics]]
kind = "ap"
of = "lesions"
threshold = 0.1
[[metrics]]
kind = "mae"
of = "age"
[[metrics]]
kind = "accuracy"
of = "sex"
[[metrics]]
kind = "brier"
of = "grade"
[[metrics]]
kind = "f1"
of = "nodes"
name = "nodes_f1"
radius_mm = 1
[[metrics]]
kind = "f1"
of = "boxes"
name = "boxes_f1"
threshold = 0.5
[[metrics]]
kind = "mre"
failed = 100
[[metrics]]
kind = "auroc"
of = "signs"
[[metrics]]
kind = "bleu_4"
[[metrics]]
kind = "c_index"
[ranking]
by = [
  "dice.mean", "ap", "mae.mean", "accuracy", "brier", "nodes_f1", "boxes_f1", "mre.mean", "auroc.mean", "bleu_4",
  "c_index",
]
method = "mean_of_positions"
"""


def write_challenge(folder: Path) -> Path:
    references = folder / "references"
    for name in ("masks", "scans", "lesions", "facts", "boxes", "corners"):
        (references / name).mkdir(parents=True)
    (folder / "challenge.toml").write_text(TOML)
    rng = np.random.default_rng(36)
    corners = [[2, 3, 0.5], [5, 3, 0.5], [5, 8, 0.5], [2, 8, 0.5]]
    for number in range(3):
        case = f"case_{number}"
        mask = np.zeros((20, 24), np.uint8)
        mask[3:9, 2 + number : 9], mask[3:9, 12:20] = 1, 2
        sitk.WriteImage(sitk.GetImageFromArray(mask), references / f"masks/{case}.png")
        scan = sitk.GetImageFromArray(rng.integers(0, 255, (4, 8, 8)).astype(np.int16))
        scan.SetSpacing((0.5, 0.5, 2.5))
        scan.SetOrigin((-10, 4, 7))
        sitk.WriteImage(scan, references / f"scans/{case}.mha")
        lesions = np.zeros((4, 8, 8), np.uint8)
        lesions[1:3, 2:4, 2 : 3 + number] = 1
        sitk.WriteImage(sitk.GetImageFromArray(lesions), references / f"lesions/{case}.nii.gz")
        facts = {"patient": {"age": 40 + number}, "sex": "FMF"[number]}
        (references / f"facts/{case}.json").write_text(json.dumps(facts))
        box = {"type": "Multiple 2D bounding boxes", "boxes": [{"corners": corners, "name": "tumour"}]}
        (references / f"boxes/{case}.json").write_text(json.dumps(box))
        corner = {"type": "Multiple points", "points": [{"name": each, "point": [number, 2, 3]} for each in "ab"]}
        (references / f"corners/{case}.json").write_text(json.dumps(corner))
        (references / f"{case}.txt").write_text(f"No acute finding number {number} in the left lower lobe of the lung.")
    (references / "true.csv").write_text("case,grade,time,event\ncase_0,1,10,1\ncase_1,2,20,0\ncase_2,3,30,1\n")
    (references / "signs.csv").write_text("case,effusion,mass\ncase_0,1,0\ncase_1,0,1\ncase_2,0,1\n")
    (references / "nodes.csv").write_text("case,x,y,z\ncase_0,1,2,3\ncase_0,9,2,3\ncase_1,4,5,6\n")
    return folder


def test_a_value_of_every_kind_is_written_to_files_tables_and_jobs(tmp_path: Path) -> None:
    folder = write_challenge(tmp_path / "every-kind")
    samples = make_samples(folder, tmp_path / "samples")
    best = {
        "dice.mean": 1,
        "ap": 1,
        "mae.mean": 0,
        "accuracy": 1,
        "brier": 0,
        "nodes_f1": 1,
        "boxes_f1": 1,
        "mre.mean": 0,
        "auroc.mean": 1,
        "bleu_4": 1,
        "c_index": 1,
    }
    for shape in ("files", "algorithm"):
        perfect, noisy = (scored(samples / shape / name, folder) for name in ("perfect", "noisy-3"))
        assert {path: round(get(perfect.aggregates, path), 3) for path in best} == best
        assert all(get(noisy.aggregates, path) != figure for path, figure in best.items())
        for fault, lost in {
            "wrong-size": {"kidneys", "scan", "lesions"},
            "wrong-label": {"kidneys"},
            "wrong-type": {"age", "sex", "grade", "nodes", "boxes", "corners", "signs", "survival"},
        }.items():
            found = scored(samples / shape / f"broken-{fault}", folder).results
            assert {*found[0].missing} == lost
            assert [result.status for result in found] == ["partial", "scored", "scored"]


def test_jobs_have_the_sockets_of_the_phase(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = write_challenge(tmp_path / "every-kind")
    capfd.readouterr()
    assert main(["sockets", "--ground-truth", str(folder)]) == 0
    listed = [tuple(line.split("  ")) for line in capfd.readouterr().out.splitlines()[2:]]
    printed = {tuple(part.strip() for part in line if part.strip()) for line in listed}
    samples = make_samples(folder, tmp_path / "samples")
    jobs = json.loads((samples / "algorithm/perfect/predictions.json").read_text())
    assert len(jobs) == 3
    for side in ("input", "output"):
        sockets = [entry["interface"] for entry in jobs[0][f"{side}s"]]
        found = {(side, each["slug"], each["kind"], each["relative_path"]) for each in sockets}
        assert found == {each for each in printed if each[0] == side}


@pytest.mark.parametrize(("taken", "shapes"), [("algorithm", ["algorithm"]), ("predictions", ["files"])])
def test_samples_have_the_shape_that_the_phase_takes(taken: str, shapes: list[str], tmp_path: Path) -> None:
    folder = write_challenge(tmp_path / "every-kind")
    (folder / "challenge.toml").write_text(f'submission = "{taken}"\n{TOML}')
    assert [path.name for path in make_samples(folder, tmp_path / "samples").iterdir()] == shapes


def test_nothing_is_written_into_a_folder_that_is_not_empty(tmp_path: Path) -> None:
    folder = write_challenge(tmp_path / "every-kind")
    assert main(["sample", "--ground-truth", str(folder), "--output", str(folder)]) == 2
    assert main(["sample", "--ground-truth", str(folder), "--output", str(folder / "challenge.toml")]) == 2
    assert not (folder / "files").exists()
