"""The other verbs: validate, manifest, leaderboard; `rank` has its own folder."""

import contextlib
import errno
import gc
import json
import logging
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from challenges.carotid_files import (
    CONFIGURATION,
    LONG,
    configured,
    mask,
    write_case,
    write_ground_truth,
    write_job,
    write_predictions,
)
from places import ROOT

from podium import __version__
from podium.cli.main import main
from podium.errors import SubmissionError
from podium.evaluation import evaluate
from podium.execution.executor import Serial
from podium.execution.processes import Processes
from podium.figures import get
from podium.metrics.declaration import HALF_WIDTH

pytestmark = pytest.mark.usefixtures("in_process")

SAMPLES = ROOT / "test" / "submissions" / "carotid"
BUNDLED = sorted(path.parent.name for path in ROOT.glob("ground-truth/*/challenge.toml"))

# The shape of the phase setting, as the platform checks it when an organiser pastes it.
EXTRA_COLUMNS_SCHEMA = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["title", "path", "order"],
        "additionalProperties": False,
        "properties": {
            "title": {"type": "string"},
            "path": {"type": "string"},
            "error_path": {"type": "string"},
            "order": {"enum": ["asc", "desc"]},
            "exclude_from_ranking": {"type": "boolean"},
        },
    },
}


@pytest.fixture
def manifest(tmp_path: Path, podium: Any) -> Path:
    path = tmp_path / "cases.json"
    ended = podium("manifest", "--ground-truth", ROOT / "ground-truth" / "carotid", "--output", path)
    assert ended.code == 0
    return path


def test_manifest_holds_names_and_shapes_and_no_reference_value(manifest: Path, podium: Any, tmp_path: Path) -> None:
    content = json.loads(manifest.read_text())
    assert len(content["cases"]) == 12
    rules = {"schema", "challenge", "kind", "title", "version", "submission", "settings"}
    assert set(content) == rules | {"cases", "geometries"}
    assert content["cases"]["csv_0071"].keys() == {"long", "trans"}
    assert content["cases"]["csv_0071"]["long"] == [160, 184]
    again = tmp_path / "again.json"
    podium("manifest", "--ground-truth", ROOT / "ground-truth" / "carotid", "--output", again)
    assert again.read_bytes() == manifest.read_bytes()


def test_the_case_list_says_which_shape_the_phase_takes(podium: Any, tmp_path: Path) -> None:
    cases = tmp_path / "cases.json"
    files, jobs = tmp_path / "files", tmp_path / "jobs"
    write_case(files / "a_pred.h5")
    (files / "predictions.json").write_text("[]")
    write_predictions(jobs, [write_job(jobs, "1", "a")])
    for shape in ("algorithm", "predictions"):
        configuration = CONFIGURATION.replace("per_case", f'submission = "{shape}"\nper_case')
        truth = write_ground_truth(tmp_path / shape, {"a": 0}, configuration=configuration)
        podium("manifest", "--ground-truth", truth, "--output", cases)
        assert json.loads(cases.read_text())["submission"] == shape
        if shape == "predictions":
            ended = podium("validate", files, "--cases", cases)
            assert re.search("predictions.json +belongs to no case", ended.out)
            assert "a_pred.h5" not in ended.out
        else:
            assert podium("validate", jobs, "--cases", cases).last_line == "The submission is ready."
            ended = podium("validate", tmp_path / shape / "references", "--cases", cases)
            assert ended.code == 1
            assert ended.last_line.startswith("This phase takes algorithms, and the submission has no predictions.json")


@pytest.mark.parametrize(
    ("team", "ready"),
    [("aorta", "ready, with 1 warning"), ("bifurcation", "ready"), ("carina", "ready, with 1 warning")],
)
def test_good_submissions_are_ready(team: str, ready: str, manifest: Path, podium: Any) -> None:
    ended = podium("validate", SAMPLES / team, "--cases", manifest)
    assert (ended.code, ended.last_line) == (0, f"The submission is {ready}.")
    assert ended.out.count("Warning: ") == (ready != "ready")
    assert "12 predictions for 'carotid' are fine." in ended.out


def test_every_problem_at_once(manifest: Path, podium: Any, tmp_path: Path) -> None:
    submission = tmp_path / "s"
    shutil.copytree(SAMPLES / "dropout", submission)
    (submission / "csv_0007_pred.h5").unlink()
    (submission / "csv_0007_pred.h5").symlink_to(submission / "csv_0036_pred.h5")
    ended = podium("validate", submission, "--cases", manifest)
    assert (ended.code, ended.last_line) == (1, "Found 8 problems; fix them before you submit.")
    for number in ("0007", "0058", "0071", "0201", "0999"):
        assert f"csv_{number}" in ended.out


NOT_CHECKED = "Not checked: which cases are expected, the sizes of arrays and images."


def test_without_a_case_list_files_are_still_read(podium: Any, tmp_path: Path) -> None:
    write_case(tmp_path / "s" / "good_pred.h5")
    write_case(tmp_path / "s" / "bad_pred.h5", long_mask=mask(LONG) + 5)
    ended = podium("validate", tmp_path / "s")
    assert (ended.code, ended.last_line) == (1, f"Found 1 problem; fix it before you submit. {NOT_CHECKED}")
    assert "'bad_pred.h5: long_mask' holds the value 5" in ended.out


@pytest.mark.parametrize("name", ["[bold]x.bin", "[/red].bin", "x\\.bin"])
def test_a_name_is_no_markup_of_the_table(name: str, podium: Any, tmp_path: Path) -> None:
    write_case(tmp_path / "s" / "good_pred.h5")
    path = tmp_path / "s" / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"")
    ended = podium("validate", tmp_path / "s")
    assert (ended.code, ended.last_line) == (1, f"Found 1 problem; fix it before you submit. {NOT_CHECKED}")
    assert name in ended.out


def test_a_sentence_ends_once(podium: Any, tmp_path: Path) -> None:
    write_case(tmp_path / "s" / "good_pred.h5")
    (tmp_path / "s" / "x").symlink_to("good_pred.h5")
    assert podium("validate", tmp_path / "s").out.count("send the file itself.\n") == 1


def test_an_algorithm_submission_and_an_archive_file(podium: Any, tmp_path: Path) -> None:
    root = tmp_path / "s"
    assert podium("validate", write_predictions(root, [write_job(root, "1", "a")])).code == 0
    assert podium("validate", SAMPLES / "bifurcation" / "preds.tar.gz").code == 0


def test_validate_warns_about_a_missing_timing_file(podium: Any) -> None:
    ended = podium("validate", SAMPLES / "carina")
    assert (ended.code, ended.last_line) == (0, f"The submission is ready, with 1 warning. {NOT_CHECKED}")
    assert "Warning: There is no timing.json: the time is unknown." in ended.out
    assert "Warning" not in podium("validate", SAMPLES / "bifurcation").out


def test_validate_needs_to_know_the_challenge(podium: Any, tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "x.bin").write_text("x")
    ended = podium("validate", tmp_path / "s")
    assert ended.code == 2
    assert ended.last_line.startswith("Name the challenge with --challenge (")
    assert podium("validate", tmp_path / "s", "--challenge", "carotid").code == 1
    assert podium("validate", tmp_path / "s", "--challenge", "heart").code == 2


@pytest.mark.parametrize("content", [None, "{", "{}", '{"challenge": "carotid"}'])
def test_a_case_list_that_is_none(content: str | None, podium: Any, tmp_path: Path) -> None:
    path = tmp_path / "cases.json"
    if content is not None:
        path.write_text(content)
    ended = podium("validate", SAMPLES / "carina", "--cases", path)
    assert ended.code == 2
    assert "cases.json" in ended.last_line


@pytest.mark.parametrize("challenge", BUNDLED)
def test_leaderboard_settings_fit_the_platform_and_the_output(challenge: str, podium: Any) -> None:
    settings = json.loads(podium("leaderboard", "--json", challenge).out)
    jsonschema.validate(settings["extra_results_columns"], EXTRA_COLUMNS_SCHEMA)
    assert settings["scoring_method_choice"] in ("abs", "avg", "med")
    assert settings["score_default_sort"] in ("asc", "desc")
    assert len(settings["score_title"]) <= 64
    expected = json.loads(next((ROOT / "test" / "expected" / challenge).glob("*.json")).read_text())
    paths = [settings["score_jsonpath"], *(column["path"] for column in settings["extra_results_columns"])]
    errors = [column["error_path"] for column in settings["extra_results_columns"] if "error_path" in column]
    paths += [path for path in errors if not path.endswith(HALF_WIDTH)]
    assert all(isinstance(get(expected, path), int | float) for path in paths), paths


def test_leaderboard_of_all_challenges(podium: Any) -> None:
    assert sorted(json.loads(podium("leaderboard", "--json").out)) == BUNDLED
    assert podium("leaderboard", "heart").code == 2


def test_carotid_ranks_by_the_total_score(podium: Any) -> None:
    settings = json.loads(podium("leaderboard", "--json", "carotid").out)
    score = [settings[f"score_{key}"] for key in ("jsonpath", "title", "default_sort")]
    assert score == ["aggregates.score", "Score (0-100)", "desc"]
    assert settings["score_error_jsonpath"] == "aggregates.score_ci.half_width"
    by_path = {column["path"]: column for column in settings["extra_results_columns"]}
    assert by_path["aggregates.total_seconds"]["order"] == "asc"
    assert by_path["aggregates.nsd.trans_plaque.mean"]["error_path"] == "aggregates.nsd.trans_plaque.std"


def test_a_broken_challenge_beside_it_does_not_matter(podium: Any, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "ground-truth" / "carotid", tmp_path / "carotid")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "challenge.toml").write_text("this is no TOML")
    for command in ("leaderboard", "figures"):
        assert podium(command, "carotid", "--ground-truth", tmp_path).code == 0
    ended = podium("evaluate", "--challenge", "carotid", "--ground-truth", tmp_path, "--input", SAMPLES / "aorta",
                   "--output", tmp_path / "out")  # fmt: skip
    assert ended.code == 0
    assert podium("leaderboard", "--ground-truth", tmp_path).code == 2


RULES = {
    'by = ["dice", "nsd"]\nmethod = "positions_by_case"': "teams are ranked by single cases",
    'by = ["dice", "nsd"]\nmethod = "mean_of_positions"\nweights = [2, 1]': "the positions in its columns have",
    'by = ["dice", "nsd"]\nmethod = "mean_of_positions"': None,
    'by = "dice"': None,
}


@pytest.mark.parametrize("rule", RULES)
def test_leaderboard_says_when_the_live_order_is_not_the_rule(podium: Any, tmp_path: Path, rule: str) -> None:
    folder = write_ground_truth(tmp_path / "carotid", configuration=CONFIGURATION.replace('by = "score"', rule))
    ended = podium("leaderboard", "--json", "--ground-truth", folder)
    assert json.loads(ended.out)
    sentence = RULES[rule]
    if sentence is None:
        assert ended.err == ""
    else:
        assert f"carotid: the live leaderboard does not show the official order, because {sentence}" in ended.err


def test_figures_lists_every_name_with_what_it_is(podium: Any) -> None:
    lines = [line.strip() for line in podium("figures", "lesions").out.splitlines()]
    rows = [re.split(r"\s{2,}", line) for line in lines]
    assert ["name", "title", "better", "range", "unit"] in rows
    assert ["final_fpv_ml.mean", "Final FPV", "lower", "0 to inf", "ml"] in rows
    assert ["auc_dice", "AUC-Dice", "higher", "0 to 5"] in rows
    assert ["dmm_pooled_group_mean", "DMM pooled, mean of groups", "higher", "0 to 1"] in rows
    assert "Figures of single cases, for [case_figures], positions_by_case and podium rank --metric:" in lines
    assert any("groups.<group>.<name>" in line for line in lines)
    assert "Figures that offline tools add, for podium rank alone:" in podium("figures", "reports").out


def test_figures_lists_the_declared_names_where_a_formula_names_another(podium: Any, tmp_path: Path) -> None:
    folder = write_ground_truth(tmp_path / "carotid", configuration=configured("figures", 'wrong = "2 * nonsense"'))
    assert "dice.long_plaque" in podium("figures", "--ground-truth", folder).out


def test_leaderboard_columns_follow_classes_and_groups(podium: Any, tmp_path: Path) -> None:
    settings = configured("cases", "groups = '^(?P<group>.)'")
    settings = settings.replace("{ low_risk = 0, high_risk = 1 }", "{ low = 0, high = 1, top = 2 }")
    settings = re.sub(r"^columns = \[.*?^\]\n", "", settings, flags=re.MULTILINE | re.DOTALL)
    folder = write_ground_truth(tmp_path / "carotid", configuration=settings)
    columns = json.loads(podium("leaderboard", "--json", "--ground-truth", folder).out)["carotid"][
        "extra_results_columns"
    ]
    titles = {column["path"]: column["title"] for column in columns}
    assert {f"aggregates.f1.{name}": f"F1 {name}" for name in ("low", "high", "top")}.items() <= titles.items()
    assert titles["aggregates.f1.top_group_mean"] == "F1 top, mean of groups"
    assert titles["aggregates.dice.long_plaque_group_mean"] == "Dice longitudinal plaque, mean of groups"
    metrics = evaluate(folder / "references", ground_truth=folder, executor=Serial()).model_dump()
    assert all(isinstance(get(metrics, path), int | float) for path in titles), titles


def test_leaderboard_titles_say_which_scores_are_provisional(podium: Any, tmp_path: Path) -> None:
    folder = write_ground_truth(tmp_path / "carotid")

    def titles(configuration: str) -> dict[str, str]:
        (folder / "challenge.toml").write_text(configuration)
        settings = json.loads(podium("leaderboard", "--json", "--ground-truth", folder).out)["carotid"]
        columns = {column["path"]: column["title"] for column in settings["extra_results_columns"]}
        return {"score": settings["score_title"], **columns}

    def provisional(configuration: str) -> set[str]:
        return {path for path, title in titles(configuration).items() if title.endswith(", provisional")}

    cohort = CONFIGURATION.replace('"fixed"', '"cohort"')
    assert titles(cohort)["score"] == "Score (0-100), provisional"
    assert titles(cohort)["aggregates.time_score"] == "Time, provisional"
    assert provisional(cohort) == {"score", "aggregates.time_score"}
    assert provisional(CONFIGURATION) == set()
    unweighted = cohort.replace(" + 0.2 * time_score", "")
    assert provisional(unweighted) == {"aggregates.time_score"}


def test_the_version_and_no_command(capsys: pytest.CaptureFixture[str]) -> None:
    done = subprocess.run([sys.executable, "-m", "podium", "--version"], cwd=ROOT, check=True, capture_output=True)
    assert done.stdout.decode() == f"podium {__version__}\n"
    with pytest.raises(SystemExit, match="2"):
        main([])
    assert "  evaluate          score a submission" in capsys.readouterr().err


def test_an_error_of_our_own_shows_no_traceback(podium: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("secret/path")

    monkeypatch.setattr("podium.tools.ranking.documents.cohorts_from", fail)
    ended = podium("rank", "x.json")
    assert ended.code == 2
    assert ended.err == "Podium failed with an internal error. The organisers can find details in the log.\n"
    assert "secret/path" in ended.out


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("leaderboard",), 141),
        (("--help",), 0),  # argparse's own decision
        (("validate", str(SAMPLES / "carina")), 1),  # rich's
    ],
)
def test_a_reader_that_has_gone_gets_no_traceback(arguments: tuple[str, ...], code: int) -> None:
    """As in `podium leaderboard | head -0`."""
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "podium", *arguments]
    error = subprocess.PIPE
    done = subprocess.run(command, cwd=ROOT, stdout=writing, stderr=error, text=True, check=False, timeout=12)
    os.close(writing)
    assert (done.returncode, done.stderr) == (code, "")


@pytest.mark.parametrize(
    ("streams", "code", "said"),
    [
        (">&-", 0, ""),
        ("2>&-", 0, ""),
        (">&- 2>&- <&-", 0, ""),
        (">/dev/full", 2, "What the command prints cannot be written: No space left on device.\n"),
    ],
)
def test_a_stream_that_is_closed_or_full_gets_no_traceback(streams: str, code: int, said: str) -> None:
    command = f"exec '{sys.executable}' -m podium leaderboard {streams}"
    done = subprocess.run(["sh", "-c", command], cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stderr) == (code, said)


def test_a_path_below_a_folder_without_permission_gets_a_sentence(podium: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root may look into every folder, so the refusal of the system is played here."""

    def refuse(path: Any, *_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    monkeypatch.setattr(os, "stat", refuse)
    ended = podium("rank", "closed/a.json")
    assert (ended.code, ended.err) == (2, "closed/a.json cannot be read: Permission denied.\n")


def test_a_command_leaves_this_process_as_it_was(podium: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setenv("MKL_NUM_THREADS", "3")
    environment = dict(os.environ)
    requests = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    handlers = {number: signal.getsignal(number) for number in requests}
    log = logging.getLogger("podium")
    collections = gc.get_threshold()
    for arguments in (("leaderboard",), ("leaderboard", "heart")):
        podium(*arguments)
        assert dict(os.environ) == environment
        assert gc.get_threshold() == collections
        assert {number: signal.getsignal(number) for number in handlers} == handlers
        assert (log.handlers, log.level) == ([], logging.NOTSET)
    with pytest.raises(SystemExit):
        podium("--no-such-option")
    assert {number: signal.getsignal(number) for number in handlers} == handlers


def score_one() -> Any:
    return Processes(workers=1).run(["a"], str.upper, label="scoring")["a"].value


def make_another_error(_: object) -> None:
    """As pydantic, which took the interrupted pattern for one that does not match."""
    try:
        signal.raise_signal(signal.SIGTERM)
    except KeyboardInterrupt:
        raise SubmissionError("The string does not match.") from None


def swallow(_: object) -> None:
    """As the callbacks of imports do: the work on cases does not begin."""
    with contextlib.suppress(KeyboardInterrupt):
        signal.raise_signal(signal.SIGTERM)
    score_one()


@pytest.mark.parametrize("library", [make_another_error, swallow])
def test_a_request_to_end_inside_a_library_that_catches_it(
    library: Any, podium: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("podium.cli.score.paths", library)
    run = podium("evaluate")
    assert (run.code, run.last_line) == (130, "Stopped on request.")
    assert score_one() == "A", "an evaluation from Python afterwards is not concerned"


INTERRUPTED_INSIDE_THE_HANDLER = """
import signal, sys
from podium.cli import main, score

def again(frame, event, _):
    \"\"\"One more request whenever something that the handler calls returns.\"\"\"
    if event == "return" and frame.f_code.co_name != "raise_on_request":
        signal.raise_signal(signal.SIGTERM)
    return again

def interrupted(_):
    sys.settrace(again)
    try:
        signal.raise_signal(signal.SIGTERM)
    finally:
        sys.settrace(None)

score.paths = interrupted
raise SystemExit(main(["evaluate"]))
"""


INTERRUPTED_INSIDE_EXEC = """
import signal
from podium.cli import main, score

score.paths = lambda _: exec("signal.raise_signal(signal.SIGTERM)")
raise SystemExit(main(["evaluate"]))
"""


@pytest.mark.parametrize("program", [INTERRUPTED_INSIDE_THE_HANDLER, INTERRUPTED_INSIDE_EXEC])
def test_a_request_to_end_at_a_bad_moment_ends_with_the_exit_code(program: str, tmp_path: Path) -> None:
    """Inside the handler of the request before, which once waited for a lock that it held itself, and inside exec().

    As a module, as `python -m podium` is run: with -c, Python ends in another way.
    """
    (tmp_path / "stopped.py").write_text(program, encoding="utf-8")
    command = [sys.executable, "-m", "stopped"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, timeout=120)
    assert (done.returncode, done.stderr) == (130, "Stopped on request.\n")


def test_a_command_may_run_in_a_thread(capfd: pytest.CaptureFixture[str]) -> None:
    codes: list[int] = []
    thread = threading.Thread(target=lambda: codes.append(main(["leaderboard", "--json"])))
    thread.start()
    thread.join()
    assert codes == [0]
    assert json.loads(capfd.readouterr().out)
