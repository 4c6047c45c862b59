"""`podium judge` with a real SDK over real HTTP: what it computes, writes, and asks."""

import gzip
import json
import os
import re
import resource
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import pytest
from evaluating import evaluate_command
from literal.reports import radfact
from places import ROOT
from tools.judge.conftest import ALPHA, BETA, REFERENCES, Desk
from tools.judge.scripted_server import Call, ScriptedServer

from podium.cli.main import main
from podium.tools.judge.asking import Meter

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("in_process")]


def asks(task: str, text: str = "") -> Callable[[Call], bool]:
    return lambda call: call.task == task and text in call.question


def split_of(text: str) -> Callable[[Call], bool]:
    return lambda call: call.task == "parsed_report" and call.question == text


# What is computed and written


def test_figures_are_those_of_the_rules(undisturbed: Desk) -> None:
    # Alpha: A1 says both findings. A2: 1 of its 2 is entailed, 1 of 3 found. A3: 1 of 1, 1 of 2.
    alpha = undisturbed.metrics("alpha")["aggregates"]
    expected = radfact([(2, 2, 2, 2), (1, 2, 1, 3), (1, 1, 1, 2)])
    assert {name: alpha["radfact"][name] for name in expected} == pytest.approx(expected, rel=1e-12)
    assert expected["precision"] == pytest.approx(2.5 / 3)
    assert alpha["clinical"] == alpha["radfact"]["f1_of_means"]
    assert alpha["score_final"] == pytest.approx(0.8 * expected["f1_of_means"] + 0.2 * alpha["captioning"], rel=1e-12)
    assert alpha["score"] == alpha["captioning"]
    assert alpha["radfact_known"] == 1
    # Beta: A1 1 of 1, 1 of 2. A2 is empty. A3 1 of 3, 1 of 2.
    beta = undisturbed.metrics("beta")["aggregates"]
    expected = radfact([(1, 1, 1, 2), (0, 0, 0, 0), (1, 3, 1, 2)])
    assert {name: beta["radfact"][name] for name in expected} == pytest.approx(expected, rel=1e-12)
    assert beta["radfact"]["lower_bound"] == pytest.approx(expected["f1_of_means"], rel=1e-12)


def test_rows_hold_the_counts(undisturbed: Desk) -> None:
    assert undisturbed.rows("alpha")["A2"]["metrics"]["radfact"] == {
        "precision": 1 / 2,
        "recall": 1 / 3,
        "f1": pytest.approx(0.4),
        "candidate_findings": 2,
        "candidate_entailed": 1,
        "reference_findings": 3,
        "reference_entailed": 1,
        "failed_verdicts": 0,
        "suspicious_findings": 0,
        "suspicious_reference_findings": 0,
        "suspicious_verdicts": 0,
    }
    assert undisturbed.rows("alpha")["A2"]["metrics"]["bleu_4"] > 0
    assert undisturbed.rows("alpha")["A2"]["warnings"] == []


def test_evidence_is_kept_on_request_and_the_log_says_once_how_files_are_isolated(desk: Desk) -> None:
    assert desk.run("--keep-evidence") == 0
    assert "\n".join(desk.said()[0]).count("isolation: submitted files are decoded under") == 1
    row = desk.rows("alpha")["A2"]["metrics"]["radfact"]
    assert row["candidate_verdicts"] == [
        {"finding": "Deep bite.", "verdict": "entailed", "evidence": ["Deep bite."], "suspicious": False},
        {"finding": "Tooth 28 is impacted.", "verdict": "not_entailed", "evidence": [], "suspicious": False},
    ]
    assert [verdict["verdict"] for verdict in row["reference_verdicts"]] == ["entailed", "not_entailed", "not_entailed"]


def test_provenance(desk: Desk) -> None:
    assert desk.run("--report-type", "bite2text") == 0
    provenance = desk.metrics("alpha")["provenance"]["judge"]
    assert len(provenance.pop("prompt_hash")) == 64
    assert provenance.pop("date") == time.strftime("%Y-%m-%d", time.gmtime())
    assert provenance == {
        "package": "radfact-lite",
        "package_version": "0.2.0",
        "model": "judge-1",
        "server": "12ca17b49af22894",  # sha256 of "127.0.0.1"
        "report_type": "bite2text",
        "remove_normal_findings": False,
        "clinical": "f1_of_means",
        "max_report_characters": 20000,
        "verdicts": 12,
        "failure_threshold": 0.01,
        "failed_verdicts": 0,
    }


def test_normal_findings_are_removed_on_request(desk: Desk) -> None:
    assert desk.run("--remove-normal-findings", teams=("alpha",)) == 0
    row = desk.rows("alpha")["A3"]["metrics"]["radfact"]
    assert (row["candidate_findings"], row["reference_findings"]) == (0, 1)
    assert (row["precision"], row["recall"], row["f1"]) == (0, 0, 0)
    assert desk.metrics("alpha")["provenance"]["judge"]["remove_normal_findings"] is True


def test_whether_normal_findings_are_removed_must_be_said(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.write_truth()
    truth = desk.root / "truth/challenge.toml"
    truth.write_text(truth.read_text().replace("remove_normal_findings = false\n", ""))
    for more in ((), ("--dry-run",)):
        assert desk.run(*more) == 2
        assert desk.said()[1].startswith("Say whether normal findings are removed before judging, since")
    assert desk.run("--no-remove-normal-findings") == 0
    assert desk.metrics("alpha")["settings"]["reports"]["remove_normal_findings"] is False
    monkeypatch.setenv("PODIUM_JUDGE_REMOVE_NORMAL_FINDINGS", "true")
    assert desk.run("--overwrite") == 0
    assert desk.metrics("alpha")["settings"]["reports"]["remove_normal_findings"] is True
    assert main(["rank", str(desk.output), "--output", str(desk.root / "ranking"), "--bootstraps", "20"]) == 0
    assert "RadFact is over abnormal findings alone" in (desk.root / "ranking/report.html").read_text()


def test_the_former_place_of_the_setting_is_named(desk: Desk) -> None:
    desk.write_truth(judge="remove_normal_findings = true\n")
    assert desk.run() == 2
    assert desk.said()[1] == (
        "challenge.toml, line 8: 'reports.judge.remove_normal_findings' is no longer a key: write it in [reports]."
    )


def test_the_other_reading_of_the_clinical_score_can_be_chosen(desk: Desk) -> None:
    truth = desk.root / "truth/challenge.toml"
    truth.write_text(truth.read_text().replace("[reports.judge]", 'clinical = "mean_of_f1"'))
    assert desk.run() == 0
    aggregates = desk.metrics("alpha")["aggregates"]
    assert aggregates["clinical"] == aggregates["radfact"]["mean_of_f1"] != aggregates["radfact"]["f1_of_means"]


def test_anonymous_rows_hold_nothing_of_the_reference(desk: Desk) -> None:
    desk.write_truth(per_case="anonymous")
    assert desk.run() == 0
    [row, *_] = desk.metrics("alpha")["results"]
    assert row["case"].startswith("case-")
    assert set(row["metrics"]["radfact"]) == {
        *("precision", "recall", "f1", "failed_verdicts", "suspicious_findings", "suspicious_verdicts")
    }
    assert desk.run("--keep-evidence", "--overwrite") == 2
    assert desk.said()[1].startswith("--keep-evidence writes the content of references into the rows, which are")
    assert desk.run("--keep-evidence", "--overwrite", "--per-case", "full") == 0
    assert "A1" in desk.rows("alpha")


# What is asked


def test_every_distinct_question_is_asked_once_and_a_second_run_is_free_and_the_same(
    desk: Desk, server: ScriptedServer
) -> None:
    assert desk.run() == 0
    asked = Counter(server.answered)
    assert max(asked.values()) == 1
    splits = [json.loads(question)[1] for question in asked if "parsed_report" in question]
    assert sorted(splits) == sorted({*REFERENCES.values(), *ALPHA.values(), *BETA.values()} - {""})
    first = desk.bytes("alpha"), desk.bytes("beta")
    count = len(server.calls)
    assert desk.run("--overwrite") == 0
    assert len(server.calls) == count
    assert (desk.bytes("alpha"), desk.bytes("beta")) == first
    assert desk.said()[0][-3].startswith(f"0 calls, {count} from the cache, 0 failed, 0 tokens")


def test_teams_judged_alone_and_together_have_the_same_bytes(desk: Desk, undisturbed: Desk) -> None:
    assert desk.run(teams=("beta",)) == 0
    assert desk.run(teams=("alpha",)) == 0
    assert [desk.bytes(team) for team in ("alpha", "beta")] == [undisturbed.bytes(team) for team in ("alpha", "beta")]


def test_empty_missing_and_unreadable_reports_score_0_without_asking(desk: Desk, server: ScriptedServer) -> None:
    desk.write_team("gamma", {"A1": " . \u200b", "A2": 7})  # type: ignore[dict-item]
    assert desk.run(teams=("gamma",)) == 0
    assert server.calls == []
    aggregates = desk.metrics("gamma")["aggregates"]
    assert (aggregates["clinical"], aggregates["radfact"]["cases"], aggregates["radfact_known"]) == (0, 3, 1)
    assert desk.rows("gamma")["A1"]["warnings"] == ["The report is empty and scores 0."]


def test_a_report_is_not_called_empty_because_its_reference_is(desk: Desk) -> None:
    (desk.root / "truth/references/A1.txt").write_text(" ")
    assert desk.run(teams=("alpha",)) == 0
    row = desk.rows("alpha")["A1"]
    assert row["metrics"]["radfact"]["f1"] == 0
    assert row["warnings"] == ["The reference is empty: this report was not judged and scores 0."]


@pytest.mark.parametrize("text", ["Tooth 46 is missing. " * 50_000, "Tooth 46 is missing." + "\u200b" * 20_000])
def test_a_report_that_is_too_long_as_it_was_sent_is_not_put_to_the_judge(
    desk: Desk, server: ScriptedServer, text: str
) -> None:
    """What cleaning would remove counts: nobody has to clean a text that is too long."""
    desk.write_team("long", {**ALPHA, "A1": text})
    assert desk.run(teams=("long",)) == 0
    row = desk.rows("long")["A1"]
    assert row["metrics"]["radfact"]["f1"] == 0
    assert row["warnings"] == ["The report is longer than 20,000 characters: it was not judged and scores 0."]
    assert not any(
        call.question.startswith("Tooth 46 is missing.") and len(call.question) > 40 for call in server.calls
    )


def test_concurrency_is_bounded(desk: Desk, server: ScriptedServer) -> None:
    under_way, most = [], []

    def slow(call: Call) -> None:
        under_way.append(call)
        most.append(len(under_way))
        time.sleep(0.02)
        under_way.remove(call)
        call.answer(call.honest())

    server.script(lambda _: True, slow)
    assert desk.run("--concurrency", "3") == 0
    assert 2 <= max(most) <= 3


def test_the_key_is_sent_and_never_shown(desk: Desk, server: ScriptedServer) -> None:
    server.script(lambda _: True, server.status(401, message="Incorrect API key provided: sk-very-secret"))
    assert desk.run() == 2
    out, last = desk.said()
    assert {call.key for call in server.calls} == {"Bearer sk-very-secret"}
    assert last == "The judge's server refuses the key (status 401)."
    assert "sk-very-secret" not in "\n".join(out) + last
    assert len(server.calls) <= 8  # those under way; nobody asks on
    assert not desk.output.exists()


def test_parameters_a_server_does_not_know_are_left_out(desk: Desk, server: ScriptedServer) -> None:
    refuse = server.status(400, message="Unsupported parameter: reasoning_effort")
    server.script(lambda call: "reasoning_effort" in call.body, refuse)
    assert desk.run("--concurrency", "1") == 0
    assert sum("reasoning_effort" in call.body for call in server.calls) == 1
    assert all(call.body["temperature"] == 0 for call in server.calls)


# Faults


def rows(cache: Path) -> int:
    with suppress(sqlite3.OperationalError), closing(sqlite3.connect(f"file:{cache}?mode=ro", uri=True)) as database:
        return database.execute("SELECT count(*) FROM answers").fetchone()[0]
    return -1


def started(desk: Desk) -> "subprocess.Popen[str]":
    """The command in a process of its own, which takes Ctrl-C even where this one was told to ignore it."""
    program = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "from podium.cli.main import main; sys.exit(main())"
    )
    command = [sys.executable, "-c", program, *desk.arguments()]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def test_a_killed_run_resumes_without_asking_again_and_ends_in_the_same_bytes(
    desk: Desk, server: ScriptedServer, undisturbed: Desk
) -> None:
    server.script(lambda _: len(server.answered) >= 9, server.hang)
    process = started(desk)
    deadline = time.monotonic() + 90
    # Killed when all eight questions under way hang and what was answered before is written down.
    while time.monotonic() < deadline and not (
        len(server.calls) == len(server.answered) + 8 and rows(desk.cache) == len(server.answered)
    ):
        time.sleep(0.05)
    process.kill()
    process.communicate()
    assert not desk.output.exists()
    server.rules.clear()
    assert len(server.answered) >= 9
    assert desk.run() == 0
    assert max(Counter(server.answered).values()) == 1, "a question that had its answer was asked again"
    assert [desk.bytes(team) for team in ("alpha", "beta")] == [undisturbed.bytes(team) for team in ("alpha", "beta")]


def test_a_run_that_is_interrupted_does_not_wait_for_its_questions(desk: Desk, server: ScriptedServer) -> None:
    server.script(lambda _: len(server.answered) >= 5, server.hang)
    process = started(desk)
    deadline = time.monotonic() + 90
    while len(server.answered) < 5 and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    try:
        _, errors = process.communicate(timeout=45)  # the server would keep the others for a minute
    finally:
        process.kill()
    assert process.returncode == 130
    assert errors.strip().splitlines()[-1] == "Stopped on request."


FORMS = ("nonsense", "null", "wrong schema", "html", "large", "large error", "bomb", "deep")


@pytest.mark.parametrize("fault", [*FORMS, "500", "429", "an hour", "a date", "drop", "drip", "hang"])
def test_a_passing_fault_leaves_no_trace(
    desk: Desk, server: ScriptedServer, undisturbed: Desk, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    action = {
        "500": server.status(500),
        "429": server.status(429),
        "drop": server.drop,
        "hang": server.hang,
        "nonsense": server.saying("I would say it is entailed."),
        "null": server.saying(None),
        "wrong schema": server.saying({"sentence_list": [{"orig": 1}], "status": "perhaps"}),
        "html": server.body(b"<html>busy</html>", headers={"Content-Type": "text/html"}),
        "drip": server.drip,
        "large": server.body(b"[" + b" " * 30_000_000 + b"]"),
        "large error": server.body(b"[" + b" " * 30_000_000 + b"]", 500),
        "bomb": server.body(gzip.compress(b" " * 50_000_000), headers={"Content-Encoding": "gzip"}),
        "deep": server.body(b"[" * 100_000 + b"]" * 100_000),
        "an hour": server.body(b"{}", 429, {"Retry-After": "3600"}),
        "a date": server.body(b"{}", 429, {"Retry-After": "Fri, 31 Dec 2100 23:59:59 GMT"}),
    }[fault]
    server.script(asks("parsed_report"), action, times=2)
    server.script(asks("evidenced_phrase"), action, times=2)
    monkeypatch.setenv("PODIUM_JUDGE_TIMEOUT_SECONDS", "0.5")
    assert desk.run() == 0
    assert desk.bytes("alpha") == undisturbed.bytes("alpha")


def test_the_head_of_an_answer_has_a_deadline_too(
    desk: Desk, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It came byte by byte, and every byte came in time."""
    server.script(asks("parsed_report"), server.slow_head, times=1)
    monkeypatch.setenv("PODIUM_JUDGE_TIMEOUT_SECONDS", "0.5")
    monkeypatch.setenv("PODIUM_JUDGE_ATTEMPTS", "1")
    monkeypatch.setattr("podium.tools.judge.server._LONGEST_WAIT", 1)
    assert desk.run() == 2
    assert "Questions that failed: no answer in time: 1." in desk.said()[0]


@pytest.mark.parametrize(
    "usage", ["many", {"prompt_tokens": "many", "completion_tokens": -5}, {"prompt_tokens": 10**400}]
)
def test_usage_that_is_no_number_of_tokens_counts_none(
    desk: Desk, server: ScriptedServer, undisturbed: Desk, usage: object
) -> None:
    def answer(call: Call) -> None:
        message = {"role": "assistant", "content": json.dumps(call.honest())}
        call.send(200, {"choices": [{"message": message}], "usage": usage})

    server.script(lambda _: True, answer)
    assert desk.run() == 0
    assert desk.bytes("alpha") == undisturbed.bytes("alpha")
    assert any(line.endswith("0 failed, 0 tokens") for line in desk.said()[0])


def test_of_a_report_in_very_short_sentences_a_hundred_findings_are_asked(desk: Desk, server: ScriptedServer) -> None:
    """Every further one was a paid question: ten reports of the longest length were 23,579."""
    desk.write_team("alpha", ALPHA | {"A1": "Tooth 46 is missing. " + " ".join(f"A{n}." for n in range(1999))})
    assert desk.run(teams=("alpha",)) == 0
    row = desk.rows("alpha")["A1"]
    assert row["metrics"]["radfact"]["candidate_findings"] == 2000
    assert row["metrics"]["radfact"]["precision"] == 1 / 2000
    assert row["warnings"] == ["1900 findings beyond the first 100 count as not entailed."]
    verdicts = [json.loads(call.question) for call in server.calls if call.task == "evidenced_phrase"]
    assert len(verdicts) == 100 + 2 + 8  # of A1, and of A2 and A3
    assert max(len(verdict["reference"]) for verdict in verdicts) == 100
    assert desk.metrics("alpha")["aggregates"]["radfact"]["verdicts"] == 110


def test_a_full_disk_stops_the_run_before_further_questions_are_paid(
    desk: Desk, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An answer that cannot be kept would be paid for again."""
    monkeypatch.setenv("PODIUM_JUDGE_CONCURRENCY", "1")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, before[1]))
    try:
        assert desk.run() == 2
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    lines, last = desk.said()
    assert last.startswith("The judge's cache cannot be written: ")
    assert "Traceback" not in "\n".join(lines)
    asked = len(server.answered)
    assert desk.run() == 0
    assert len(server.answered) == len(set(server.answered)) + 1  # the one that could not be kept
    assert asked < len(set(server.answered))


def test_a_key_that_ends_during_the_run_costs_no_answer_twice(desk: Desk, server: ScriptedServer) -> None:
    server.script(lambda _: len(server.calls) > 6, server.status(401))
    assert desk.run() == 2
    assert desk.said()[1] == "The judge's server refuses the key (status 401)."
    server.rules.clear()
    assert desk.run() == 0
    assert len(server.answered) == len(set(server.answered))


def test_nonsense_for_one_case_fails_its_verdicts_and_no_aggregate_is_written(
    desk: Desk, server: ScriptedServer
) -> None:
    server.script(asks("evidenced_phrase", "Tooth 28"), server.saying("no idea"))
    assert desk.run() == 2
    _, last = desk.said()
    # Asked of "Tooth 28": alpha's finding itself and, with it as a premise, A2's three reference findings. 10 verdicts
    # of alpha in all are wanted, of which alpha's own on deep bite (against the reference) is not touched.
    row = desk.rows("alpha")["A2"]
    assert row["metrics"]["radfact"]["failed_verdicts"] == 4
    assert row["metrics"]["radfact"]["precision"] == 1  # of the one verdict given; a failure is not a "no"
    assert row["metrics"]["radfact"]["recall"] is None
    assert row["warnings"] == ["4 verdicts failed."]
    assert last.startswith("33.3% of the verdicts on 'alpha' failed, more than 1.0%: no aggregate was written.")
    aggregates = desk.metrics("alpha")["aggregates"]
    assert aggregates["radfact_known"] == 0
    assert not {"radfact", "clinical", "score_final"} & aggregates.keys()
    assert desk.metrics("alpha")["provenance"]["judge"]["failed_verdicts"] == 4
    assert desk.metrics("beta")["aggregates"]["radfact_known"] == 1  # the other team is done
    server.rules.clear()
    count = len(server.calls)
    assert desk.run("--overwrite") == 0
    assert len(server.calls) - count == 4  # only what failed
    assert desk.metrics("alpha")["aggregates"]["radfact_known"] == 1


def test_below_the_threshold_a_failed_case_is_left_out_of_the_means_and_counted(
    desk: Desk, server: ScriptedServer
) -> None:
    server.script(split_of(ALPHA["A2"]), server.saying("no idea"))
    assert desk.run("--failure-threshold", "0.5", teams=("alpha",)) == 0
    found = desk.metrics("alpha")["aggregates"]["radfact"]
    expected = radfact([(2, 2, 2, 2), (1, 1, 1, 2)])
    assert {name: found[name] for name in expected} == pytest.approx(expected)
    assert (found["cases"], found["failed_verdicts"], found["verdicts"]) == (2, 4, 11)
    assert found["lower_bound"] < found["f1_of_means"]
    row = desk.rows("alpha")["A2"]["metrics"]["radfact"]
    assert (row["precision"], row["recall"], row["f1"]) == (None, None, None)


def test_a_request_the_server_calls_bad_is_not_repeated(desk: Desk, server: ScriptedServer) -> None:
    fits = split_of(ALPHA["A2"])
    server.script(fits, server.status(400, message="context length exceeded"))
    assert desk.run("--failure-threshold", "0.5", teams=("alpha",)) == 0
    assert sum(fits(call) for call in server.calls) == 1


def test_an_error_nobody_foresaw_costs_its_question_alone(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    from radfact_lite import phrase_parser

    split = phrase_parser.parse_report_to_phrases

    def stumble(client: object, text: str, report_type: object) -> list[str]:
        if text == ALPHA["A2"]:
            raise ZeroDivisionError
        return split(client, text, report_type)

    monkeypatch.setattr(phrase_parser, "parse_report_to_phrases", stumble)
    assert desk.run("--failure-threshold", "0.5", teams=("alpha",)) == 0
    assert desk.metrics("alpha")["aggregates"]["radfact"]["cases"] == 2
    assert "ZeroDivisionError" in "".join(desk.said()[0])


def test_a_server_that_is_down_ends_the_run_early(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PODIUM_JUDGE_ATTEMPTS", "2")
    desk.url = "http://127.0.0.1:9/v1"
    assert desk.run("--concurrency", "2") == 2
    # 8 distinct reports; whose findings nobody can judge then.
    assert desk.said()[1] == "The judge's server answered none of the 8 questions (connection refused: 8)."
    assert not desk.output.exists()


def write_many(desk: Desk) -> None:
    """30 more cases, so that there are questions enough to see a server go."""
    texts = {f"B{number:02}": f"Tooth {number} is impacted." for number in range(11, 41)}
    for case, text in texts.items():
        (desk.root / f"truth/references/{case}.txt").write_text(text)
    desk.write_team("many", {case: f"{text} Tooth {case[1:]} is worn." for case, text in texts.items()})


@pytest.mark.parametrize("answers", [0, 9, 70])
def test_a_server_that_goes_away_ends_the_run_and_the_cache_is_kept(
    desk: Desk, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch, answers: int
) -> None:
    write_many(desk)
    monkeypatch.setenv("PODIUM_JUDGE_ATTEMPTS", "3")
    server.script(lambda _: len(server.answered) >= answers, server.go_away)
    assert desk.run("--concurrency", "4", teams=("many",)) == 2
    # A question that was on its way when the server went sees its connection broken, all others see it refused.
    assert re.fullmatch(
        r"The judge's server gave no usable answer to 20 questions in a row "
        r"\(connection refused: \d+(, connection broken: \d+)?\)\. "
        r"Answers so far are in the cache: run it again to ask the rest\.",
        desk.said()[1],
    )
    assert not desk.output.exists()
    assert rows(desk.cache) == len(server.answered) >= answers


def test_reasons_are_counted_and_an_answer_in_between_lets_the_run_go_on(
    desk: Desk, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the 60 reports, asked about one after the other, 40 cannot be split: never 20 in a row."""
    write_many(desk)
    monkeypatch.setenv("PODIUM_JUDGE_ATTEMPTS", "1")
    server.script(lambda _: len(server.calls) % 3 == 1, server.status(503))
    server.script(lambda _: len(server.calls) % 3 == 2, server.saying("Certainly!"))
    assert desk.run("--concurrency", "1", teams=("many",)) == 2
    out, last = desk.said()
    assert "Questions that failed: answer not in the requested form: 20, status 503: 20." in out
    assert "of the verdicts on 'many' failed" in last
    assert len(server.calls) == 60


@pytest.mark.parametrize(
    ("status", "code", "sentence"),
    [
        (402, None, "The judge's server asks for payment: the account has no credit left (status 402)."),
        (403, None, "The judge's server denies this key access to the model (status 403)."),
        (404, None, "The judge's server does not know this model or URL (status 404)."),
        (429, "insufficient_quota", "The quota of the key for the judge's server is used up (status 429)."),
    ],
)
def test_a_key_that_is_no_good_ends_the_run_at_once(
    desk: Desk, server: ScriptedServer, status: int, code: str | None, sentence: str
) -> None:
    server.script(lambda _: True, server.status(status, code=code))
    assert desk.run("--concurrency", "1") == 2
    assert desk.said()[1] == sentence
    assert len(server.calls) == (3 if status == 429 else 1)  # the client library repeats every 429


def test_a_report_the_server_does_not_like_costs_its_own_verdicts_alone(desk: Desk, server: ScriptedServer) -> None:
    """Servers with moderation answer 403 to a single text; its author must not be able to stop the run."""
    server.script(split_of(ALPHA["A2"]), server.status(403))
    assert desk.run("--concurrency", "1", "--failure-threshold", "0.5") == 0
    assert "Questions that failed: access denied (status 403): 1." in desk.said()[0]
    assert desk.metrics("alpha")["aggregates"]["radfact"]["cases"] == 2


def test_one_unusable_submission_does_not_cost_the_others(desk: Desk) -> None:
    (desk.write_team("broken", {}) / "reports.json").write_text("[")
    assert desk.run(teams=("broken", "alpha")) == 1
    _, last = desk.said()
    assert last == "'reports.json' is not valid JSON: line 1, column 2."
    assert desk.metrics("alpha")["aggregates"]["radfact_known"] == 1


# Files and settings


def test_nothing_is_written_over_unless_asked(desk: Desk, server: ScriptedServer) -> None:
    old = desk.output / "alpha/metrics.json"
    old.parent.mkdir(parents=True)
    old.write_text('{"old": true}')
    assert desk.run() == 2
    assert desk.said()[1] == f"{old} exists; give another --output, or --overwrite."
    assert (old.read_text(), server.calls) == ('{"old": true}', [])
    assert desk.run("--overwrite") == 0
    assert desk.metrics("alpha")["aggregates"]["radfact_known"] == 1


def evaluate(desk: Desk, team: str) -> Path:
    output = desk.root / "scores" / team
    assert evaluate_command(desk.root / "teams" / team, desk.root / "truth", output) == 0
    return output / "metrics.json"


def test_a_metrics_json_names_a_team_whose_reports_lie_elsewhere(desk: Desk) -> None:
    metrics = [evaluate(desk, "alpha"), evaluate(desk, "beta")]
    assert desk.run(*metrics, "--submissions", desk.root / "teams", teams=()) == 0
    judged = desk.metrics("alpha")
    for name, figure in json.loads(metrics[0].read_text())["aggregates"].items():
        assert judged["aggregates"][name] == (1 if name == "radfact_known" else figure)
    assert json.loads(metrics[0].read_text())["aggregates"]["radfact_known"] == 0


def test_a_metrics_json_of_other_reports_is_refused(desk: Desk, server: ScriptedServer) -> None:
    metrics = evaluate(desk, "alpha")
    assert desk.run(metrics, "--submissions", desk.root / "teams/beta", teams=()) == 2
    assert desk.said()[1] == f"{metrics} was not made from this submission and these references: 'bleu_4' differs."
    assert desk.run(metrics, teams=()) == 2
    assert desk.said()[1] == f"{metrics} holds no reports; name the folder of the submissions with --submissions."
    assert server.calls == []


@pytest.mark.parametrize("place", ["truth/references", "bare"])
def test_references_may_be_a_plain_folder_of_texts(desk: Desk, undisturbed: Desk, place: str) -> None:
    if place == "bare":
        (desk.root / "truth/references").rename(desk.root / "bare")
    assert desk.run("--references", desk.root / place, "--no-remove-normal-findings") == 0
    assert desk.metrics("alpha")["aggregates"] == undisturbed.metrics("alpha")["aggregates"]


def test_flags_go_before_variables_before_challenge_toml(
    desk: Desk, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.write_truth(judge='model = "from-toml"\nreport_type = "toothfairy"\nfailure_threshold = 0.3\n')
    monkeypatch.setenv("PODIUM_JUDGE_MODEL", "from-variable")
    monkeypatch.setenv("PODIUM_JUDGE_REPORT_TYPE", "bite2text")
    arguments = ["--references", desk.root / "truth", "--base-url", desk.url, "--cache", desk.cache]
    arguments += ["--output", desk.output, "--report-type", "general"]
    assert main(["judge", str(desk.root / "teams/alpha"), *map(str, arguments)]) == 0
    provenance = desk.metrics("alpha")["provenance"]["judge"]
    assert (provenance["model"], provenance["report_type"]) == ("from-variable", "general")
    assert {call.body["model"] for call in server.calls} == {"from-variable"}


@pytest.mark.parametrize(
    ("variable", "value", "sentence"),
    [
        ("CONCURRENCY", "0", "The judge's setting 'concurrency' is wrong: input should be greater than or equal to 1."),
        ("CONCURRENCY", "many", "PODIUM_JUDGE_CONCURRENCY must be a number, true or false, not 'many'."),
    ],
)
def test_wrong_settings_are_named(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, variable: str, value: str, sentence: str
) -> None:
    monkeypatch.setenv(f"PODIUM_JUDGE_{variable}", value)
    assert desk.run() == 2
    assert desk.said()[1] == sentence


def test_without_a_model_or_a_key_nobody_is_asked(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ["judge", str(desk.root / "teams/alpha"), "--references", str(desk.root / "truth")]
    assert main(arguments) == 2
    assert desk.said()[1].startswith("Name the judge's model with --model, PODIUM_JUDGE_MODEL or [reports.judge]")
    monkeypatch.delenv("OPENAI_API_KEY")
    assert main([*arguments, "--model", "x"]) == 2
    assert desk.said()[1] == "Set OPENAI_API_KEY, or name a server that needs no key with --base-url."


def test_a_dry_run_needs_no_server_and_counts_what_would_be_asked(desk: Desk, server: ScriptedServer) -> None:
    assert desk.run("--dry-run") == 0
    said = desk.said()[0][-1]
    assert server.calls == []
    assert not desk.output.exists()
    assert desk.run() == 0
    # A sentence is a finding to the scripted server too, so the estimate of the calls is exact here.
    assert said.startswith(f"About {len(server.calls)} calls with ")
    assert said.endswith("; 0 answers are in the cache.")
    assert desk.run("--dry-run") == 0
    assert desk.said()[0][-1] == (
        f"About 0 calls with 0 prompt and 0 answer tokens; {len(server.calls)} answers are in the cache."
    )


def test_a_dry_run_tells_the_cost_where_prices_are_configured(desk: Desk) -> None:
    prices = "price_per_million_prompt_tokens = 2.5\nprice_per_million_answer_tokens = 1000.0\n"
    desk.write_truth(judge=prices)
    assert desk.run("--dry-run") == 0
    said = desk.said()[0][-1]
    found = re.fullmatch(
        r"About \d+ calls with ([\d,]+) prompt and ([\d,]+) answer tokens; 0 answers are in the cache\. "
        r"The calls would cost about (\d+\.\d\d)\.",
        said,
    )
    assert found is not None
    prompt, answer = (int(number.replace(",", "")) for number in found.groups()[:2])
    assert float(found[3]) == pytest.approx((2.5 * prompt + 1000 * answer) / 1e6, abs=0.005)
    assert float(found[3]) > 0


def test_the_summary_counts_calls_hits_failures_tokens_and_cost() -> None:
    meter = Meter(prompt_price=2.0, answer_price=10.0)
    meter.answered(prompt_tokens=900_000, answer_tokens=100_000)
    meter.found()
    meter.failed("status 500")
    assert meter.summary() == "1 calls, 1 from the cache, 1 failed, 1,000,000 tokens, cost 2.80"


def test_another_version_of_the_engine_is_refused(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("podium.tools.judge.engine.PINNED_VERSION", "0.1.0")
    assert desk.run() == 2
    assert desk.said()[1] == "radfact-lite 0.2.0 is installed; its figures are comparable only in 0.1.0."


@pytest.mark.skipif("PODIUM_LIVE_JUDGE_URL" not in os.environ, reason="needs PODIUM_LIVE_JUDGE_URL and _MODEL")
def test_a_live_server(desk: Desk) -> None:
    """Opt-in: any OpenAI-compatible server; the key, if it needs one, in PODIUM_LIVE_JUDGE_KEY."""
    os.environ["OPENAI_API_KEY"] = os.environ.get("PODIUM_LIVE_JUDGE_KEY", "none")
    live = ["--base-url", os.environ["PODIUM_LIVE_JUDGE_URL"], "--model", os.environ["PODIUM_LIVE_JUDGE_MODEL"]]
    assert desk.run(*live, "--keep-evidence") == 0
    alpha = desk.metrics("alpha")["aggregates"]
    assert alpha["radfact"]["failed_verdicts"] == 0
    assert 0 < alpha["radfact"]["f1_of_means"] <= 1
    assert desk.rows("alpha")["A1"]["metrics"]["radfact"]["f1"] == 1
