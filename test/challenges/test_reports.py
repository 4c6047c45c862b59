"""The reports challenge from submission to metrics.json: every form, every way to be wrong."""

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from challenges.built import reports
from challenges.declared.declaring import write_challenge
from evaluating import evaluate_command
from metrics.test_text import A_CANDIDATE, A_REFERENCE, C_CANDIDATE, C_REFERENCE
from places import ROOT

from podium.challenges.reports.scoring import ReportsCase
from podium.cli.main import main
from podium.errors import GroundTruthError
from podium.metrics.declaration import Formula
from podium.platform.jobs import Runtime
from podium.platform.metrics_file import CaseResult
from podium.platform.submission import SubmissionNames
from podium.readers.wordnet import FOLDER_VARIABLE, find_wordnet

pytestmark = pytest.mark.usefixtures("in_process")

SAMPLES = ROOT / "test/submissions/reports"
GROUND_TRUTH = ROOT / "ground-truth/reports"
TEXTS = {"A003": "Tooth 46 is missing. No open bite.", "b.7": "The overjet is increased, l’affollamento è lieve."}
TOML = 'kind = "reports"\ntitle = "Test"\nversion = "1"\nper_case = "{per_case}"\n'


def write_truth(root: Path, texts: dict[str, str] = TEXTS, *, per_case: str = "full", settings: str = "") -> Path:
    references = {f"{case}.txt": text for case, text in texts.items()}
    return write_challenge(root, settings, references, head=TOML.format(per_case=per_case))


class Bench:
    """Scores submissions against TEXTS."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.submission, self.output, self.truth = folder / "input", folder / "output", folder / "truth"
        self.submission.mkdir()
        self._capsys = capsys

    def write(self, name: str, content: str | bytes) -> None:
        path = self.submission / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)

    def run(self) -> tuple[int, str]:
        """The exit code and the last line on stderr."""
        if not self.truth.exists():
            write_truth(self.truth)
        code = evaluate_command(self.submission, self.truth, self.output)
        self.log, errors = self._capsys.readouterr()
        return code, errors.strip().splitlines()[-1]

    def metrics(self) -> dict[str, Any]:
        code, sentence = self.run()
        assert code == 0, sentence
        return json.loads((self.output / "metrics.json").read_text())

    def rows(self) -> dict[str, Any]:
        return {row["case"]: row for row in self.metrics()["results"]}


@pytest.fixture
def bench(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Bench:
    return Bench(tmp_path, capsys)


def job(pk: str, *, inputs: dict[str, dict[str, Any]], report: Any = None, key: str = "interface") -> dict[str, Any]:
    socket = {"slug": "diagnostic-imaging-report", "relative_path": "diagnostic-imaging-report.json"}
    return {
        "pk": pk,
        "inputs": [{key: {"slug": slug}, **content} for slug, content in inputs.items()],
        "outputs": [{key: socket, "value": report, "file": None, "image": None}],
    }


def image(name: str) -> dict[str, dict[str, Any]]:
    return {"cbct-image": {"image": {"pk": "1", "name": name}}}


def perfect(rows: dict[str, Any]) -> None:
    """Every report is its reference, so precision is 1 and only METEOR's penalty for one chunk is left."""
    for row in rows.values():
        assert row["status"] == "scored"
        assert row["metrics"]["bleu_4"] == 1
        length = row["metrics"]["tokens"]["reference"]
        assert row["metrics"]["meteor"] == pytest.approx(1 - 0.5 / length**3, rel=1e-12)


# Which BLEU and METEOR enter the score


def test_aggregates_can_be_computed_again_from_the_rows_alone(tmp_path: Path) -> None:
    assert evaluate_command(SAMPLES / "wisdom", GROUND_TRUTH, tmp_path) == 0
    document = json.loads((tmp_path / "metrics.json").read_text())
    rows = [
        CaseResult(case=row["case"], status=row["status"], metrics=row["metrics"], error=row["error"])
        for row in document["results"]
    ]
    expected = {
        name: each for name, each in document["aggregates"].items() if name != "score_ci"
    }  # needs the references
    assert reports().aggregate(rows, Runtime()) == expected


def test_figures_of_text_lie_between_0_and_1() -> None:
    assert {(each.lowest, each.highest) for each in reports().scoreboard.metrics} == {(0.0, 1.0)}


def test_only_the_leaderboards_bleu_counts_orders_that_a_report_is_too_short_for() -> None:
    case = ReportsCase.of(candidate="No fracture", reference="No fracture is seen.")
    assert (case.counts.totals, case.counts_13a.totals) == ((2, 1, 1, 1), (2, 1, 0, 0))


def write_golden(bench: Bench, captioning: str) -> None:
    settings = f'[reports]\ncaptioning = "{captioning}"\n'
    write_truth(bench.truth, {"A": A_REFERENCE, "C": C_REFERENCE}, settings=settings)
    bench.write("reports.json", json.dumps({"A": A_CANDIDATE, "C": C_CANDIDATE}))


@pytest.mark.skipif(find_wordnet() is None, reason="WordNet is not installed")
@pytest.mark.parametrize(
    ("captioning", "pair"), [("leaderboard", ("bleu_4", "meteor")), ("offline", ("bleu_13a", "meteor_wordnet"))]
)
def test_either_pair_may_be_the_captioning_score_and_both_are_reported(
    bench: Bench, captioning: str, pair: tuple[str, str]
) -> None:
    write_golden(bench, captioning)
    metrics = bench.metrics()
    found, rows = metrics["aggregates"], [row["metrics"] for row in metrics["results"]]
    assert [round(row["bleu_13a"], 4) for row in (*rows, found)] == [0.2932, 0, 0.2305]
    assert round(found["bleu_4"], 8) == 0.24222779
    assert found["score"] == found["captioning"]
    for figures in (*rows, found):
        assert figures["captioning"] == (figures[pair[0]] + figures[pair[1]]) / 2
    assert metrics["settings"]["reports"]["captioning"] == captioning


def test_the_mean_of_the_cases_may_be_the_bleu_of_the_score(bench: Bench) -> None:
    """A and C: BLEU-4 0.30544992 and 0.02404891, METEOR 0.63097135 and 0.29258620."""
    write_golden(bench, 'leaderboard"\nbleu = "cases')
    found = bench.metrics()["aggregates"]
    assert found["bleu_4"] == pytest.approx(0.24222779, abs=1e-8)
    assert found["bleu_4_case_mean"] == pytest.approx(0.16474942, abs=1e-8)
    assert found["score"] == found["captioning"] == pytest.approx((0.16474942 + 0.46177878) / 2, abs=1e-8)
    assert found["bleu_13a_case_mean"] == pytest.approx(0.2932 / 2, abs=1e-4)


def test_the_published_final_score_of_a_participant_fits_the_leaderboards_pair() -> None:
    """BLEU-4 0.2145, METEOR 0.4569 and RadFact 0.3660 were published with the final score 0.3600."""
    (captioning,) = (each for each in reports().scoreboard.formulas if each.path == "captioning")
    (final,) = (each for each in reports().scoreboard.offline if each.path == "score_final")
    given = {"bleu_4": 0.2145, "meteor": 0.4569, "clinical": 0.3660}
    assert isinstance(final, Formula)
    assert final.compute({**given, "captioning": captioning.compute(given)}) == pytest.approx(0.3600, abs=1e-4)


@pytest.fixture
def without_wordnet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "nowhere"))
    find_wordnet.cache_clear()
    yield
    find_wordnet.cache_clear()


@pytest.mark.usefixtures("without_wordnet")
def test_the_offline_pair_needs_wordnet(bench: Bench) -> None:
    write_golden(bench, "offline")
    assert bench.run() == (
        2,
        "'reports.captioning' is \"offline\", which needs WordNet, and WordNet is not installed; install Debian's "
        "wordnet-base, or name the folder of its files in PODIUM_WORDNET.",
    )


@pytest.mark.usefixtures("without_wordnet")
def test_rows_that_were_scored_elsewhere_need_no_wordnet() -> None:
    facts = {
        f"{name}{suffix}": counts
        for suffix in ("", "_13a")
        for name, counts in {
            "ngrams": {kind: dict.fromkeys("1234", 1) for kind in ("matches", "totals")},
            "tokens": {"candidate": 4, "reference": 4},
        }.items()
    }
    row = {"bleu_4": 1, "meteor": 0.5, "bleu_13a": 1, "meteor_wordnet": 0.5, "captioning": 0.75, **facts}
    challenge = reports({"captioning": "offline"})
    found = challenge.aggregate([CaseResult(case="A", status="scored", metrics=row)], Runtime())
    assert found["score"] == 0.75
    assert "meteor_wordnet" in [column.path for column in challenge.columns()]


# Forms of a submission


def test_texts_and_json_files_with_any_extension_and_case_of_letters(bench: Bench) -> None:
    bench.write("deep/a003.TXT", TEXTS["A003"])
    bench.write("deep/B.7.json", json.dumps({"report": TEXTS["b.7"]}))
    bench.write("deep/README.txt", "not a report")
    bench.write("notes.md", "not a report")
    metrics = bench.metrics()
    perfect({row["case"]: row for row in metrics["results"]})
    assert metrics["counts"] == {"expected": 2, "scored": 2, "partial": 0, "failed": 0, "missing": 0, "unmatched": 0}


def test_reports_json(bench: Bench) -> None:
    bench.write("reports.json", json.dumps({"a003.nii.gz": TEXTS["A003"], "B.7": TEXTS["b.7"]}))
    perfect(bench.rows())


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("header", [["case", "report"], ["\ufeffreport", "Case"], None])
def test_reports_csv(bench: Bench, delimiter: str, header: list[str] | None) -> None:
    table = io.StringIO()
    writer = csv.writer(table, delimiter=delimiter)
    rows = [[case, text.replace(". ", ".\r\n")] for case, text in TEXTS.items()]
    if header:
        writer.writerow([name.lstrip("\ufeff") for name in header])
        rows = [row[::-1] for row in rows] if "report" in header[0] else rows
    writer.writerows(rows)
    mark = "\ufeff" if header and header[0].startswith("\ufeff") else ""
    bench.write("reports.csv", mark + table.getvalue())
    perfect(bench.rows())


@pytest.mark.parametrize("key", ["interface", "socket"])
def test_jobs_are_paired_by_the_names_of_their_inputs(bench: Bench, key: str) -> None:
    scan = {"intra-oral-scan": {"file": "https://host/media/x/B.7.stl?token=1"}, "notes": {"file": None}}
    jobs = [
        job("two", inputs=scan, report={"report": TEXTS["b.7"]}, key=key),
        job("one", inputs=image("A003.nii.gz"), key=key),
    ]
    bench.write("predictions.json", json.dumps(jobs))
    bench.write("one/output/diagnostic-imaging-report.json", json.dumps({"report": TEXTS["A003"]}))
    perfect(bench.rows())


def test_a_file_object_names_the_case_too(bench: Bench) -> None:
    jobs = [
        job("x", inputs={"scan": {"file": {"name": "a003.ply"}}}, report={"report": TEXTS["A003"]}),
        job("y", inputs=image("B.7.mha"), report={"report": TEXTS["b.7"]}),
    ]
    bench.write("predictions.json", json.dumps(jobs))
    perfect(bench.rows())


def test_a_pk_names_the_case_only_where_no_input_does(bench: Bench) -> None:
    jobs = [
        job("job-b.7", inputs=image("A003.mha"), report={"report": TEXTS["A003"]}),
        job("job-B.7.x", inputs=image("volume.mha"), report={"report": TEXTS["b.7"]}),
    ]
    bench.write("predictions.json", json.dumps(jobs))
    perfect(bench.rows())


def test_jobs_that_belong_to_no_case_are_counted_and_named(bench: Bench) -> None:
    """As many jobs as cases: pairing the leftover job with the leftover case would look right."""
    jobs = [
        job("9f-c2", inputs=image("secret-name.mha"), report={"report": TEXTS["b.7"]}),
        job("77-aa", inputs=image("A003.mha"), report={"report": TEXTS["A003"]}),
    ]
    bench.write("predictions.json", json.dumps(jobs))
    rows = bench.rows()
    assert (rows["A003"]["status"], rows["b.7"]["status"]) == ("scored", "missing")
    assert json.loads((bench.output / "metrics.json").read_text())["counts"]["unmatched"] == 1
    assert "unmatched: job 9f-c2: no input is an expected case ('secret-name.mha')" in bench.log


def test_many_left_over_jobs_are_counted(bench: Bench) -> None:
    bench.write("predictions.json", json.dumps([job(f"pk{n}", inputs={}) for n in range(12)]))
    _, sentence = bench.run()
    assert sentence == (
        "None of the 12 submitted predictions belongs to an expected case; "
        "the first is job pk0: no input is an expected case (none with a name)."
    )


# What is wrong with single reports


@pytest.mark.parametrize(
    ("name", "content", "error"),
    [
        ("A003.json", "42", "'A003.json' must hold the report as text, it holds a number."),
        ("A003.json", '{"report": 4.2}', "'A003.json' must hold the report as text, it holds a number."),
        ("A003.json", '{"report": null}', "'A003.json' must hold the report as text, it holds null."),
        ("A003.json", '{"report": ["x"]}', "'A003.json' must hold the report as text, it holds a list."),
        ("A003.json", '{"report": true}', "'A003.json' must hold the report as text, it holds true or false."),
        ("A003.json", '{"text": "x"}', """'A003.json' must be {"report": "text"}, it has no 'report'."""),
        ("A003.txt", b"\xff\xfe\x00T", "'A003.txt' is not UTF-8 text; save it as UTF-8."),
        ("A003.txt", b"x" * 4_000_001, "'A003.txt' is longer than 4,000,000 characters."),
        ("A003.txt", b"x" * 16_000_001, "'A003.txt' is larger than 16,000,000 bytes."),
    ],
)
def test_an_unreadable_report_costs_its_case_alone(bench: Bench, name: str, content: str | bytes, error: str) -> None:
    bench.write(name, content)
    bench.write("b.7.txt", TEXTS["b.7"])
    metrics = bench.metrics()
    rows = {row["case"]: row for row in metrics["results"]}
    assert rows["A003"]["status"] == "failed"
    assert rows["A003"]["error"] == error
    assert {rows["A003"]["metrics"][name] for name in ("bleu_4", "meteor", "captioning")} == {0}
    perfect({"b.7": rows["b.7"]})
    assert metrics["counts"]["failed"] == metrics["aggregates"]["empty_reports"] == 1


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("NaN", "must hold the report as text, it holds a number."),
        ("1e999", "must hold the report as text, it holds a number."),
        ('"\\ud83d"', "holds half of a surrogate pair, which is not a valid character."),
        ('{"report": "a\\udfff"}', "holds half of a surrogate pair, which is not a valid character."),
    ],
)
def test_what_json_cannot_mean_costs_its_case_alone(written: str, words: str, bench: Bench) -> None:
    bench.write("reports.json", f'{{"A003": {written}, "b.7": {json.dumps(TEXTS["b.7"])}}}')
    rows = bench.rows()
    assert rows["A003"]["error"] == f"'reports.json: A003' {words}"
    assert rows["b.7"]["metrics"]["captioning"] > 0.9


@pytest.mark.parametrize("text", ["", " \r\n\t", "\ufeff"])
def test_an_empty_report_scores_0_and_is_counted(bench: Bench, text: str) -> None:
    bench.write("A003.txt", text)
    bench.write("b.7.txt", TEXTS["b.7"])
    metrics = bench.metrics()
    row = metrics["results"][0]
    assert (row["status"], row["warnings"]) == ("scored", ["The report is empty and scores 0."])
    assert {row["metrics"][name] for name in ("bleu_4", "meteor", "captioning")} == {0}
    assert metrics["aggregates"]["empty_reports"] == 1


def test_a_missing_report_scores_0_and_is_counted(bench: Bench) -> None:
    bench.write("b.7.txt", TEXTS["b.7"])
    metrics = bench.metrics()
    assert metrics["results"][0]["status"] == "missing"
    assert metrics["counts"]["missing"] == metrics["aggregates"]["empty_reports"] == 1
    assert metrics["aggregates"]["meteor"] == pytest.approx(metrics["results"][1]["metrics"]["meteor"] / 2)


def test_empty_against_empty_scores_0(bench: Bench) -> None:
    write_truth(bench.truth, {"A": "", "B": "tooth"})
    bench.write("A.txt", "")
    bench.write("B.txt", "tooth")
    rows = bench.rows()
    assert {rows["A"]["metrics"][name] for name in ("bleu_4", "meteor", "captioning")} == {0}


def test_byte_order_mark_windows_line_ends_and_typographic_quotes_are_read(bench: Bench) -> None:
    bench.write("A003.txt", b"\xef\xbb\xbf" + TEXTS["A003"].replace(". ", ".\r\n").encode())
    bench.write("b.7.json", b"\xef\xbb\xbf" + json.dumps({"report": "\ufeff" + TEXTS["b.7"]}).encode())
    perfect(bench.rows())


def test_a_report_of_two_megabytes_is_scored(bench: Bench) -> None:
    bench.write("A003.txt", (TEXTS["A003"] + " ") * 57_000)
    bench.write("reports.json", json.dumps({"b.7": TEXTS["b.7"]}))
    assert (bench.submission / "A003.txt").stat().st_size > 1_900_000
    row = bench.rows()["A003"]
    assert row["status"] == "scored"
    assert row["metrics"]["tokens"]["candidate"] == 57_000 * 9
    # All 9 reference tokens are found at once, so one chunk; P = 1/57000, R = 1.
    assert row["metrics"]["meteor"] == pytest.approx(10 / 57_000 / (1 + 9 / 57_000) * (1 - 0.5 / 9**3), rel=1e-9)


def test_two_megabytes_in_one_cell_of_a_csv_are_read(bench: Bench) -> None:
    bench.write("reports.csv", f'A003,"{"tooth " * 350_000}"\r\nb.7,"{TEXTS["b.7"]}"\r\n')
    assert bench.rows()["A003"]["metrics"]["tokens"]["candidate"] == 350_000


def test_a_stray_report_is_counted_and_the_rest_scored(bench: Bench) -> None:
    bench.write("reports.json", json.dumps({**TEXTS, "Z9": "x"}))
    bench.write("picture.gif", b"GIF89a")
    metrics = bench.metrics()
    assert metrics["counts"]["unmatched"] == 2
    assert "unmatched: reports.json: Z9: it is not an expected case" in bench.log


@pytest.mark.parametrize("name", ["." * 300_000, "A003" + ".x" * 100_000, "Z\n1", "", "..", "é" * 900])
def test_strange_names_are_unmatched_and_shown_on_one_line(bench: Bench, name: str) -> None:
    bench.write("reports.json", json.dumps({**TEXTS, name: "x"}))
    metrics = bench.metrics()
    assert (metrics["counts"]["scored"], metrics["counts"]["unmatched"]) == (2, 1)
    line, _ = bench.log.splitlines()
    assert line.startswith("unmatched: reports.json: ")
    assert len(line) < 300


def test_a_report_sent_twice_costs_its_case(bench: Bench) -> None:
    bench.write("A003.txt", TEXTS["A003"])
    bench.write("reports.json", json.dumps(TEXTS))
    rows = bench.rows()
    assert rows["A003"]["status"] == "failed"
    assert "'A003.txt', 'reports.json: A003'" in rows["A003"]["error"]


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("reports.json", "[]", """'reports.json' must be an object, {"<case>": "text", ...}."""),
        (
            "reports.json",
            json.dumps({f"x{number}": "" for number in range(10_001)}),
            "'reports.json' holds more than 10,000 reports; send only those of the challenge.",
        ),
        ("reports.csv", "A003\n", "'reports.csv', line 1: a case and its report are required."),
    ],
)
def test_an_unusable_submission_says_why(bench: Bench, name: str, content: str, sentence: str) -> None:
    bench.write(name, content)
    assert bench.run() == (1, sentence)


# What participants see, and what organisers must have right


def test_anonymous_rows_hold_no_count_that_tells_of_a_reference(bench: Bench) -> None:
    write_truth(bench.truth, per_case="anonymous")
    bench.write("reports.json", json.dumps(TEXTS))
    metrics = bench.metrics()
    assert all(row["case"].startswith("case-") for row in metrics["results"])
    shown = {key for row in metrics["results"] for key in row["metrics"]}
    assert shown <= {"bleu_4", "bleu_13a", "meteor", "meteor_wordnet", "captioning"}


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("C.md", b"x", "A reference is not named <case>.txt."),
        ("a003.txt", b"x", "Two references have names that differ only in upper and lower case."),
        ("C.txt", b"\xff", "1 of 3 references are broken. The organisers can find details in the log."),
    ],
)
def test_a_broken_ground_truth_stops_everything(bench: Bench, name: str, content: bytes, sentence: str) -> None:
    write_truth(bench.truth)
    (bench.truth / "references" / name).write_bytes(content)
    bench.write("reports.json", json.dumps(TEXTS))
    assert bench.run() == (2, sentence)


def test_settings_are_checked(bench: Bench) -> None:
    write_truth(bench.truth, settings="[reports.weights]\nclinical = 0.9\n")
    bench.write("reports.json", json.dumps(TEXTS))
    code, sentence = bench.run()
    assert code == 2
    assert sentence == "challenge.toml, line 5: 'reports.weights' is wrong: the weights must sum to 1, not 1.1."


@pytest.mark.parametrize(
    ("sockets", "files", "recognised"),
    [
        ({"diagnostic-imaging-report"}, (), True),
        (set(), ("x/reports.csv",), True),
        (set(), ("A.txt", "B.json"), True),
        (set(), ("A.json",), False),
        (set(), ("A_pred.h5", "readme.txt"), False),
        ({"plaque-vulnerability"}, (), False),
    ],
)
def test_recognises_its_own(sockets: set[str], files: tuple[str, ...], recognised: bool) -> None:
    assert reports().recognises(SubmissionNames(output_sockets=frozenset(sockets), files=files)) is recognised


@pytest.mark.parametrize("name", ["\\ud800", "a\\nb"])
def test_a_name_that_cannot_be_shown_is_no_case(name: str, bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    bench.write("reports.json", f'{{"A003": "x", "{name}": 5}}')
    assert main(["validate", str(bench.submission)]) == 1
    assert f"reports.json: {name}" in capsys.readouterr().out


def test_validate_and_manifest(bench: Bench, tmp_path: Path) -> None:
    write_truth(bench.truth)
    manifest = tmp_path / "cases.json"
    assert main(["manifest", "--ground-truth", str(bench.truth), "--output", str(manifest)]) == 0
    assert json.loads(manifest.read_text())["cases"] == {"A003": {}, "b.7": {}}
    assert TEXTS["A003"] not in manifest.read_text()
    bench.write("reports.json", json.dumps(TEXTS))
    assert main(["validate", str(bench.submission), "--cases", str(manifest)]) == 0
    bench.write("reports.json", json.dumps({"A003": 5}))
    assert main(["validate", str(bench.submission), "--cases", str(manifest)]) == 1


def test_the_manifest_does_not_publish_the_judges_address(bench: Bench, tmp_path: Path) -> None:
    write_truth(bench.truth, settings='[reports.judge]\nbase_url = "http://judge.hospital.example/v1"\n')
    manifest = tmp_path / "cases.json"
    assert main(["manifest", "--ground-truth", str(bench.truth), "--output", str(manifest)]) == 0
    assert "hospital" not in manifest.read_text()


def test_references_that_cannot_be_listed_are_not_the_participants_fault(tmp_path: Path) -> None:
    (tmp_path / ("d/" * 20)).mkdir(parents=True)
    with pytest.raises(GroundTruthError, match=r"The references cannot be listed\.") as raised:
        reports().find_references(tmp_path)
    assert "nested deeper than 16 folders" in str(raised.value.detail)
