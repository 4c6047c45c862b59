"""What scripts/bench.sh measures: each subject writes its files, runs the real command and gives its rows."""

import json
import math
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from tempfile import TemporaryDirectory

import arena
import carotid as carotid_cases
import freehand as freehand_cases
import h5py
import lesions as lesion_cases
import ranking as ranking_teams
import reports as report_cases
import SimpleITK
import surfaces
from measured import Row, whole_row

REPOSITORY = Path(__file__).resolve().parents[1]
SAMPLE_TEAMS = {"carotid": "aorta", "freehand": "fathom", "lesions": "ember", "reports": "cuspid"}
LESION_CASES = 10
SHORT_FRAMES, LONG_FRAMES = 100, 1400
SCANS = ("LH_Par_S_DtP", "LH_Par_S_PtD", "RH_Par_S_DtP")
ENGINES = ("monai", "native")
FREEHAND = 'kind = "freehand"\ntitle = "Benchmark"\nversion = "1"\nper_case = "full"\n[freehand]\nedition = "2024"\n'
ORGANS = f"""\
kind = "declared"
title = "Benchmark"
version = "1"
per_case = "full"

[values.organs]
kind = "labels"
file = "{{case}}.nii.gz"
reference = "{{case}}.nii.gz"
labels = {{ background = 0, {", ".join(f"organ_{number} = {number}" for number in range(1, surfaces.ORGANS + 1))} }}

[[metrics]]
kind = "dice"
of = "organs"

[[metrics]]
kind = "nsd"
of = "organs"
tolerance_mm = {surfaces.TOLERANCE_MM}

[[metrics]]
kind = "hd95"
of = "organs"

[leaderboard]
columns = ["dice.mean"]

[ranking]
by = "dice.mean"
"""


@dataclass(frozen=True, kw_only=True)
class Plan:
    runs: int
    workers: int


def samples(plan: Plan) -> Iterator[Row]:
    """The bundled samples: little more than the start."""
    for kind, team in SAMPLE_TEAMS.items():
        with TemporaryDirectory(prefix="podium-bench-") as output:
            truth, submission = REPOSITORY / "ground-truth" / kind, REPOSITORY / "test/submissions" / kind / team
            command = evaluation(submission, truth, Path(output), plan)
            yield whole_row("sample", kind, command, runs=plan.runs)


def carotid(plan: Plan) -> Iterator[Row]:
    with working_folder() as folder:
        carotid_cases.write_cases(folder, carotid_cases.CASES)
        what = f"{carotid_cases.CASES} cases of two 512 x 512 views"
        for engine in ENGINES:
            use_engine(folder, engine)
            literal = "h5py and MONAI, written literally"
            yield row_of("carotid", f"{what}, {engine}", folder, plan, peer=literal, script="carotid_monai")


def lesions(plan: Plan) -> Iterator[Row]:
    size = "6 steps of 400 x 400 x 326"
    with working_folder() as folder:
        write_lesions(folder, [lesion_cases.LESIONS[number % 2] for number in range(LESION_CASES)])
        counts = " or ".join(str(count) for count in lesion_cases.LESIONS)
        yield row_of("lesions", f"{LESION_CASES} cases, {size}, {counts} lesions", folder, plan)
    with working_folder() as folder:
        write_lesions(folder, lesion_cases.LESIONS[:1])
        what = f"1 case, {size}, {lesion_cases.LESIONS[0]} lesions"
        yield row_of("lesions", what, folder, plan, peer="SimpleITK and a mask per lesion")


def freehand(plan: Plan) -> Iterator[Row]:
    with working_folder() as folder:
        write_freehand(folder, LONG_FRAMES, SCANS)
        what = f"{len(SCANS)} scans of {LONG_FRAMES} frames of 480 x 640, .npy"
        yield row_of("freehand", what, folder, plan)
    with working_folder() as folder:
        write_freehand(folder, SHORT_FRAMES, SCANS[:1])
        what = f"1 scan of {SHORT_FRAMES} frames, .npy"
        yield row_of("freehand", what, folder, plan, peer="torch, written literally")


def reports(plan: Plan) -> Iterator[Row]:
    with working_folder() as folder:
        report_cases.write_cases(folder)
        report_cases.write_nltk_data(folder / "nltk_data")
        os.environ["NLTK_DATA"] = str(folder / "nltk_data")
        yield whole_row(
            "reports",
            f"{report_cases.CASES} reports, WordNet included",
            evaluation(folder / "texts", folder / "truth", folder / "output", plan),
            runs=plan.runs,
            peer="NLTK",
            peer_command=[sys.executable, str(Path(__file__).with_name("reports_nltk.py")), str(folder)],
            agree=agreeing(folder / "output"),
        )


def organs(plan: Plan) -> Iterator[Row]:
    prediction, reference = surfaces.label_pair(surfaces.SHAPE)
    with working_folder() as folder:
        (folder / "submission").mkdir()
        (folder / "ground-truth/references").mkdir(parents=True)
        for path, labels in (("submission", prediction), ("ground-truth/references", reference)):
            image = SimpleITK.GetImageFromArray(labels)
            image.SetSpacing(surfaces.SPACING_MM[::-1])
            SimpleITK.WriteImage(image, str(folder / path / "case.nii.gz"), useCompression=True, compressionLevel=1)
        (folder / "ground-truth/challenge.toml").write_text(ORGANS, encoding="utf-8")
        what = f"Dice, NSD and HD95 of {surfaces.ORGANS} organs, one case of 400 x 400 x 300"
        for engine in ENGINES:
            use_engine(folder, engine)
            yield row_of("organs", f"{what}, {engine}", folder, plan, peer="SimpleITK and MONAI")


def ranking(plan: Plan) -> Iterator[Row]:
    with working_folder() as folder:
        ranking_teams.write_teams(folder / "teams", 50, 1000)
        command = [sys.executable, "-m", "podium", "rank", str(folder / "teams"), "--output", str(folder / "ranking")]
        what = "50 teams, 1,000 cases, 1,000 replicates, all intervals, pages"
        yield whole_row("ranking", what, command, runs=plan.runs)
        ranking_teams.write_scores(folder / "scores.csv", teams=40, cases=100, metrics=26)
        command[4:5] = [str(folder / "scores.csv"), "--direction", "higher"]
        yield whole_row("ranking", "table of 40 teams, 26 metrics, 100 cases, pages", command, runs=plan.runs)


def votes(plan: Plan) -> Iterator[Row]:
    """The arena's server; the memory is not that of a command that ends."""
    runs = [arena.loaded(voters=20, matchups=300, rate=None) for _ in range(plan.runs)]
    times, count, seconds = min(runs, key=lambda run: run[2])
    page = sorted(times.of["page"])[len(times.of["page"]) // 2]
    speed = f"{count / seconds:.0f} votes/s, page {1000 * page:.0f} ms"
    yield Row(subject="arena", what=f"{count} votes of 20 raters at once", seconds=seconds, other_speed=speed)


def agreeing(output: Path) -> Callable[[str], None]:
    """The peer's means must be those of metrics.json."""

    def check(printed: str) -> None:
        aggregates = json.loads((output / "metrics.json").read_text(encoding="utf-8"))["aggregates"]
        for path, expected in json.loads(printed).items():
            found = reduce(lambda figures, name: figures[name], path.split("."), aggregates)
            assert math.isclose(found, expected, rel_tol=1e-5), f"{path}: {found} and {expected}"

    return check


def use_engine(folder: Path, engine: str) -> None:
    path = folder / "ground-truth/challenge.toml"
    text = re.sub(r"^engine = .*\n", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    path.write_text(f'engine = "{engine}"\n{text}', encoding="utf-8")


def row_of(  # noqa: PLR0913  (what a row says)
    subject: str, what: str, folder: Path, plan: Plan, *, peer: str = "", script: str = ""
) -> Row:
    """`script` names the function of peers.py, where it is not that of the subject."""
    return whole_row(
        subject,
        what,
        evaluation(folder / "submission", folder / "ground-truth", folder / "output", plan),
        runs=plan.runs,
        files=(folder / "submission", folder / "ground-truth"),
        peer=peer,
        peer_command=[sys.executable, str(Path(__file__).with_name("peers.py")), script or subject, str(folder)]
        if peer
        else (),
        agree=agreeing(folder / "output"),
    )


def evaluation(submission: Path, truth: Path, output: Path, plan: Plan) -> list[str]:
    command = [sys.executable, "-m", "podium", "evaluate", "--workers", str(plan.workers)]
    return [*command, "--input", str(submission), "--ground-truth", str(truth), "--output", str(output)]


def write_lesions(folder: Path, lesions_of_cases: Sequence[int]) -> None:
    for number, count in enumerate(lesions_of_cases):
        prediction, reference = lesion_cases.pair_of(count)
        lesion_cases.write(folder / f"ground-truth/references/case{number}.nii.gz", reference)
        first = folder / f"submission/case{number}/iter_0.nii.gz"
        lesion_cases.write(first, prediction)
        for step in range(1, lesion_cases.STEPS):
            shutil.copy(first, first.with_name(f"iter_{step}.nii.gz"))
    (folder / "ground-truth/challenge.toml").write_text(lesion_cases.CHALLENGE, encoding="utf-8")


def write_freehand(folder: Path, frames: int, scans: Sequence[str]) -> None:
    """One sweep under several names; the fields are linked, since only reading them takes time."""
    truth, submission = folder / "ground-truth", folder / "submission"
    poses = freehand_cases.sweep(frames)
    freehand_cases.write_truth(truth, poses)
    (truth / "challenge.toml").write_text(FREEHAND, encoding="utf-8")
    fields = submission / freehand_cases.SCAN
    freehand_cases.write_fields(fields, freehand_cases.guessed_transforms(poses))
    first = freehand_cases.SCAN.partition("__")[2]
    poses_file = truth / f"references/transfs/050/{first}.h5"
    with h5py.File(truth / "references/landmark/landmark_050.h5", "a") as landmarks:
        for scan in scans:
            if scan != first:
                landmarks[scan] = landmarks[first][()]
                shutil.copy(poses_file, poses_file.with_name(f"{scan}.h5"))
                shutil.copytree(fields, submission / f"sub050__{scan}", copy_function=os.link)


@contextmanager
def working_folder() -> Iterator[Path]:
    with TemporaryDirectory(prefix="podium-bench-") as temporary:
        yield Path(temporary)


SUBJECTS: dict[str, Callable[[Plan], Iterator[Row]]] = {
    each.__name__: each for each in (samples, carotid, lesions, freehand, reports, organs, ranking, votes)
}
