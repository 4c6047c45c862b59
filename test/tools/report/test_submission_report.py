"""The page of one submission, made from real metrics.json files, and its command with overlays."""

import base64
import io
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from evaluating import evaluate, evaluate_command, read_metrics
from PIL import Image
from places import ROOT
from tools.ranking.test_reports_rule import document as judged_document
from tools.report.page_check import Page, write_page

from podium.cli.main import main
from podium.tools.ranking.result import ranking_from_json

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("in_process")]

GROUND_TRUTH = ROOT / "ground-truth/carotid"
IMAGES = ROOT / "test/images/carotid"
SUBMISSIONS = ROOT / "test/submissions/carotid"
STRUCTURES = ("vessel", "plaque")


@pytest.fixture(scope="module")
def teams(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What every sample team gets, as <team>/metrics.json."""
    folder = tmp_path_factory.mktemp("evaluated")
    for submission in SUBMISSIONS.iterdir():
        assert evaluate_command(submission, GROUND_TRUTH, folder / submission.name) == 0
    return folder


@pytest.fixture(scope="module")
def metrics(teams: Path) -> Path:
    """What the sample team with broken files gets."""
    return teams / "dropout/metrics.json"


def page_of(*arguments: object, output: Path) -> Page:
    assert main(["report", *map(str, arguments), "--output", str(output)]) == 0
    return Page(output.read_text(encoding="utf-8"))


def refusal(capfd: pytest.CaptureFixture[str], *arguments: object) -> str:
    assert main(["report", *map(str, arguments)]) == 2
    return capfd.readouterr().err.splitlines()[-1]


def overlay_options(submission: Path = SUBMISSIONS / "dropout") -> list[object]:
    return ["--images", IMAGES, "--submission", submission, "--ground-truth", GROUND_TRUTH]


def changed(metrics: Path, folder: Path, **changes: Any) -> Path:
    document = {**json.loads(metrics.read_text(encoding="utf-8")), **changes}
    target = folder / "team" / "metrics.json"
    target.parent.mkdir()
    target.write_text(json.dumps(document), encoding="utf-8")
    return target


def test_a_participant_sees_scores_problems_and_worst_cases(metrics: Path, tmp_path: Path) -> None:
    page = page_of(metrics, output=tmp_path / "page.html")
    expected = json.loads((ROOT / "test/expected/carotid/dropout.json").read_text(encoding="utf-8"))
    scores = {row[0]: row[1] for row in page.table("Figure", "Value")}
    assert float(scores["Score (0-100)"]) == pytest.approx(expected["aggregates"]["score"], abs=0.001)
    intervals = {row[0]: row[2] for row in page.table("Figure", "Value")}
    low, high = map(float, intervals["Score (0-100)"].split(" to "))
    assert low < expected["aggregates"]["score"] < high
    assert intervals["Seconds"] == "–", "the time does not come from the cases"
    assert "There are fewer than 20 cases (here 12): rare failures may be missing from the sample." in page.all_words
    assert "6 of 12 cases were scored. 4 partial, 1 failed and 1 missing" in page.all_words
    cases = page.table("Case", "Status", "Segmentation")
    assert [row[1] for row in cases] == ["failed", "missing"] + ["partial"] * 4 + ["scored"] * 6, "what lost most first"
    assert sum(row[0].startswith("csv_0113'csv_0113_pred.h5: trans_mask' holds the value 7") for row in cases) == 1
    assert {cell for row in cases for cell in row if "right" in cell} == {"high risk (right)", "low risk (right)"}
    worst = cases[6:]
    values = [float(row[2]) for row in worst]
    assert values == sorted(values)
    by_case = {case: result["metrics"]["segmentation"] for case, result in expected["results"].items()}
    assert all(value == pytest.approx(by_case[row[0]], abs=1e-4) for row, value in zip(worst, values, strict=True))
    assert len(page.figures) == 12, "one distribution per metric"
    regions = [table for table in page.tables if table[0][0] == "Region"]
    assert len(regions) == 2, "the means by region of both views"
    fix = page.table("Case", "Status", "What to fix")
    assert [row[1] for row in fix] == ["failed", "missing"] + ["partial"] * 4, "what to fix comes first"
    assert "hidden reference" not in page.all_words


def test_an_unknown_time_is_called_unknown(teams: Path, tmp_path: Path) -> None:
    page = page_of(teams / "carina/metrics.json", output=tmp_path / "page.html")
    assert {row[0]: row[1] for row in page.table("Figure", "Value")}["Seconds"] == "unknown"


def test_the_page_stands_beside_the_file_and_is_the_same_every_time(metrics: Path) -> None:
    beside = metrics.parent / "report.html"
    assert main(["report", str(metrics)]) == 0
    first = beside.read_bytes()
    assert main(["report", str(metrics)]) == 0
    assert beside.read_bytes() == first


def test_overlays_show_the_worst_cases(metrics: Path, tmp_path: Path) -> None:
    page = page_of(metrics, *overlay_options(), output=tmp_path / "page.html")
    assert "These pictures show the hidden reference" in page.all_words
    titles = [text for svg in page.plots if re.search(r", (Longitudinal|Transverse), ", text := svg[0].text or "")]
    rows = [row for row in page.table("Case", "Status", "Segmentation") if row[1] == "scored"][:4]
    worst = [row[0].removesuffix(" picture") for row in rows]
    assert all(row[0].endswith(" picture") for row in rows), "from a case to its picture"
    numbers = [anchor.removeprefix("case-").removesuffix("-picture") for anchor in page.anchors if "-picture" in anchor]
    assert len(numbers) == 4
    assert all(page.anchors.count(f"case-{number}") == 1 for number in numbers), "and back"
    panels = [(case, view, name) for case in worst for view in ("Longitudinal", "Transverse") for name in STRUCTURES]
    assert sorted(titles) == sorted(", ".join(panel) for panel in panels), "one panel per structure: errors overlap"
    assert page.text.count("data:image/png;base64,") == 16
    title = f"{worst[0]}, Longitudinal, plaque"
    described = next(svg[1].text or "" for svg in page.plots if svg[0].text == title)
    predicted, reference, shared = map(int, re.findall(r"plaque: (\d+) .*?(\d+) .*?(\d+) shared", described)[0])
    metrics_of = {row["case"]: row["metrics"] for row in json.loads(metrics.read_text())["results"]}
    assert 2 * shared / (predicted + reference) == pytest.approx(metrics_of[worst[0]]["dice"]["long_plaque"])
    areas = {"false-positive": 0, "false-negative": 0}
    first = page.text.partition(title)[2].partition("</svg>")[0]
    for kind, path in re.findall(r'<path class="(false-\w+)" d="([^"]*)"', first):
        areas[kind] += sum(map(int, re.findall(r"h(\d+)v1", path)))
    pixels = re.findall(r"(\d+) pixels predicted, (\d+) in the reference, (\d+) shared", described)
    assert areas["false-positive"] == sum(int(predicted) - int(shared) for predicted, _, shared in pixels)
    assert areas["false-negative"] == sum(int(reference) - int(shared) for _, reference, shared in pixels)
    assert re.search(r"Longitudinal, plaque, false-[a-z ]+, \d+ pixels, .*?window [\d.]+ to [\d.]+", page.all_words)
    assert page.text.count(f'<input type="checkbox" aria-label="Enlarge {title}">') == 1


def test_overlays_find_the_cases_behind_pseudonyms(tmp_path: Path) -> None:
    ground_truth = shutil.copytree(GROUND_TRUTH, tmp_path / "truth")
    settings = ground_truth / "challenge.toml"
    settings.write_text(re.sub(r'per_case = "\w+"', 'per_case = "anonymous"', settings.read_text(encoding="utf-8")))
    page = Page(write_page(SUBMISSIONS / "dropout", ground_truth, tmp_path / "out", "--images", IMAGES).read_text())
    assert {row[0][:5] for row in page.table("Case", "Status", "Segmentation")} == {"case-"}
    assert any((svg[0].text or "").startswith("csv_0128, ") for svg in page.plots)
    assert sum(anchor.endswith("-picture") for anchor in page.anchors) == 4, "rows lead to pictures of other names"


def test_without_single_cases_there_are_scores_alone(metrics: Path, tmp_path: Path) -> None:
    page = page_of(changed(metrics, tmp_path, results=[]), output=tmp_path / "page.html")
    assert not page.plots
    assert "The organisers publish no per-case results" in page.all_words


def test_what_the_judge_added_is_shown(tmp_path: Path) -> None:
    target = tmp_path / "metrics.json"
    target.write_text(json.dumps(judged_document(((0.75, 0.5), (0.75, 0.5)))), encoding="utf-8")
    page = page_of(target, output=tmp_path / "page.html")
    scores = {row[0]: row[1] for row in page.table("Figure", "Value")}
    assert float(scores["Clinical"]) == pytest.approx(0.6)
    assert float(scores["Final score"]) == pytest.approx(0.8 * 0.6 + 0.2)
    assert "RadFact F1" in page.figures


def test_what_participants_wrote_is_text(metrics: Path, tmp_path: Path) -> None:
    rows = json.loads(metrics.read_text(encoding="utf-8"))["results"]
    for row in rows:
        row["case"] += "<script>alert(1)</script>"
        row["warnings"] = ["<img src=x onerror=alert(1)>"]
    file = changed(metrics, tmp_path, results=rows, title="</title><script>alert(1)</script>")
    page = page_of(file, output=tmp_path / "page.html")
    assert page.text.count("<script>") == 1, "ours"
    assert "<img src=x onerror=alert(1)>" in page.all_words


@pytest.mark.parametrize("value", ["1e308", "-1e308", "NaN", "Infinity", "1" + "0" * 400, "true", '"high"', "[]", "{}"])
def test_figures_that_are_none_break_nothing(metrics: Path, tmp_path: Path, value: str) -> None:
    document = json.loads(metrics.read_text(encoding="utf-8"))
    for number, row in enumerate(document["results"]):
        row["metrics"]["segmentation"] = "@" if number % 2 else number / 100
    file = tmp_path / "metrics.json"
    file.write_text(json.dumps(document).replace('"@"', value), encoding="utf-8")
    page = page_of(file, output=tmp_path / "page.html")
    assert page.table("Case", "Status", "Segmentation")


@pytest.mark.parametrize("value", ["NaN", "Infinity", "1" + "0" * 400, "true", '"high"', "[]", "null"])
def test_aggregates_that_are_no_numbers_are_refused(
    metrics: Path, tmp_path: Path, value: str, capfd: pytest.CaptureFixture[str]
) -> None:
    document = json.loads(metrics.read_text(encoding="utf-8"))
    document["aggregates"]["score"] = "@"
    file = tmp_path / "metrics.json"
    file.write_text(json.dumps(document).replace('"@"', value), encoding="utf-8")
    words = "is not a metrics.json written by Podium ('aggregates' is wrong: 'score' is not a finite number)."
    assert refusal(capfd, file).endswith(words)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"not json", "is neither a metrics.json nor a ranking.json written by Podium."),
        (b"[" * 100_000, "is neither a metrics.json nor a ranking.json written by Podium."),
        (b"{}", "is not a metrics.json written by Podium"),
        (b"[]", "is not a metrics.json written by Podium"),
        (b'{"schema": "podium-ranking-2"}', "is not a ranking.json written by 'podium rank'"),
    ],
)
def test_other_files_are_refused(content: bytes, words: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "metrics.json"
    file.write_bytes(content)
    assert words in refusal(capfd, file)


def test_a_file_that_is_not_there(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert refusal(capfd, tmp_path / "none.json").endswith("none.json cannot be read: No such file or directory.")


def test_overlays_need_a_submission_and_the_ground_truth(metrics: Path, capfd: pytest.CaptureFixture[str]) -> None:
    words = "Pictures of cases need --submission and --ground-truth; "
    assert refusal(capfd, metrics, "--images", IMAGES) == f"{words}--submission and --ground-truth are missing."
    assert refusal(capfd, metrics, *overlay_options()[:4]) == f"{words}--ground-truth is missing."
    assert refusal(capfd, metrics, *overlay_options()[4:]) == f"{words}--submission is missing."


def test_without_images_errors_are_drawn_on_black(metrics: Path, tmp_path: Path) -> None:
    page = page_of(metrics, *overlay_options()[2:], output=tmp_path / "page.html")
    assert "data:image/png" not in page.text
    assert page.text.count('class="false-positive"') > 1
    assert "window" not in page.text.partition("hidden reference")[2].partition("</figure>")[0]


def test_overlays_of_other_submissions_or_cases_are_refused(
    metrics: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    few = tmp_path / "few"
    few.mkdir()
    (few / "csv_0007_pred.h5").write_bytes((GROUND_TRUTH / "references/csv_0007_label.h5").read_bytes())
    said = refusal(capfd, metrics, *overlay_options(submission=few))
    assert "has no prediction for 'csv_0023'" in said
    assert said.endswith("give the submission that this file was made from.")
    rows = json.loads(metrics.read_text(encoding="utf-8"))["results"]
    rows[0]["case"] = "elsewhere"
    file = changed(metrics, tmp_path, results=rows)
    assert refusal(capfd, file, *overlay_options()).endswith(
        "has the case 'elsewhere', which this ground truth does not have."
    )
    assert "The folder given with --images does not exist" in refusal(
        capfd, metrics, "--images", tmp_path / "none", *overlay_options()[2:]
    )


def test_the_final_table_follows_the_literal_reading_of_the_rules(teams: Path, tmp_path: Path) -> None:
    expected = {}
    for team in (folder.name for folder in teams.iterdir()):
        literal = json.loads((ROOT / f"test/expected/carotid/{team}.json").read_text(encoding="utf-8"))
        expected[team] = literal["aggregates"]["score"]
    assert main(["rank", str(teams), "--output", str(tmp_path), "--bootstraps", "0"]) == 0
    ranking = ranking_from_json((tmp_path / "ranking.json").read_bytes())
    names = [team.name for team in ranking.teams]
    assert names == sorted(expected, key=lambda team: -expected[team])
    assert ranking.deciding.scores == pytest.approx([expected[team] for team in names])


def test_a_whole_ranking_with_overlays(teams: Path, tmp_path: Path) -> None:
    output = tmp_path / "ranking"
    two = [str(teams / team) for team in ("aorta", "dropout")]
    assert main(["rank", *two, "--output", str(output), "--bootstraps", "50"]) == 0
    written = Page((output / "report.html").read_text(encoding="utf-8"))
    assert [row[1] for row in written.table("Rank", "Team", "Score (0-100)")] == ["aorta", "dropout"]
    again = page_of(output / "ranking.json", output=tmp_path / "again.html")
    assert again.text == written.text, "the page can be made again from ranking.json, to the byte"
    rich = page_of(output / "ranking.json", *overlay_options(submission=SUBMISSIONS), output=tmp_path / "rich.html")
    assert rich.text.count("data:image/png;base64,") == 32
    assert len(rich.text.encode()) < 5_000_000


def test_lesions_have_curves_over_their_steps_and_overlays(tmp_path: Path) -> None:
    ground_truth, submission = ROOT / "ground-truth/lesions", ROOT / "test/submissions/lesions/ember"
    page = Page(write_page(submission, ground_truth, tmp_path, "--images", ROOT / "test/images/lesions").read_text())
    expected = json.loads((ROOT / "test/expected/lesions/ember.json").read_text(encoding="utf-8"))["aggregates"]
    curve = {row[0]: float(row[2]) for row in page.table("Interaction step", "Cases", "Mean")}
    assert curve == {step: pytest.approx(mean, rel=1e-3) for step, mean in expected["dice_by_step"].items()}
    titles = [svg[0].text or "" for svg in page.plots if len(svg)]
    assert "Dice over interaction steps" in page.figures
    assert "DMM over interaction steps" in page.figures
    assert sum("axial, slice" in title for title in titles) == 4
    assert sum("maximum projection" in title for title in titles) == 4
    assert page.text.count("data:image/png;base64,") == 8
    assert len(re.findall(r"bar \d+ mm", page.all_words)) == 8
    by_case = {case: row["metrics"]["steps"] for case, row in read_metrics(tmp_path)["results"].items()}
    shown = re.findall(r"(\w+), step (\d), Dice ([\d.]+)", " ".join(titles))
    assert len(shown) == 24
    for case, step, agreed in shown:
        assert float(agreed) == pytest.approx(by_case[case][int(step)]["dice"], abs=1e-3)


@pytest.mark.parametrize("team", ["fathom", "gyro"])
def test_freehand_has_errors_over_its_frames(tmp_path: Path, team: str) -> None:
    rows = evaluate(ROOT / "test/submissions/freehand" / team, ROOT / "ground-truth/freehand", tmp_path)["results"]
    expected = json.loads((ROOT / f"test/expected/freehand/{team}.json").read_text(encoding="utf-8"))["results"]
    for case, result in expected.items():
        for name in ("gpe", "lpe"):
            if result["status"] == "scored":
                frames = rows[case]["metrics"]["by_frame"][name]
                assert len(frames) == rows[case]["metrics"]["by_frame"]["frames"]
                assert sum(frames) / len(frames) == pytest.approx(result["metrics"][name])
            else:
                assert rows[case]["metrics"]["by_frame"] is None
    page = page_of(tmp_path / "metrics.json", output=tmp_path / "page.html")
    assert "GPE over frames" in page.figures
    assert "LPE over frames" in page.figures
    assert page.table("Frame", "Cases", "Mean")[0][0].startswith("1")


def test_freehand_shows_the_trajectories_of_the_worst_scans(tmp_path: Path) -> None:
    ground_truth, submission = ROOT / "ground-truth/freehand", ROOT / "test/submissions/freehand/fathom"
    page = Page(write_page(submission, ground_truth, tmp_path).read_text())
    drawn = [svg for svg in page.plots if (svg[0].text or "").endswith(", trajectory")]
    assert len(drawn) == min(4, read_metrics(tmp_path)["counts"]["scored"])
    assert "Outlined" not in page.all_words
    addresses = re.findall(r'href="data:image/png;base64,([^"]+)"', page.text)
    assert [Image.open(io.BytesIO(base64.b64decode(each))).size for each in addresses] == [(1200, 600)] * len(drawn)
