"""What the commands look like at a terminal: help, suggestions, completion, and nothing said twice."""

import os
import pty
import re
import select
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import pytest
from places import ROOT

from podium.cli.main import COMMANDS, load_command, main

pytestmark = pytest.mark.slow

PODIUM = [sys.executable, "-m", "podium"]
INSTALLED = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
REPORTS = ("--ground-truth", "ground-truth/reports", "--input", "test/submissions/reports/molar")


def at_terminal(
    words: Sequence[str], typed: Sequence[tuple[str, str]] = (), *, columns: int = 80, term: str = "dumb"
) -> str:
    """Everything a terminal shows of a program; each text of `typed` is sent once the terminal has shown the other."""
    environment = {**os.environ, "COLUMNS": str(columns), "TERM": term, "PS1": "$ ", **INSTALLED}
    number, terminal = pty.fork()
    if number == 0:
        os.chdir(ROOT)
        os.execvpe(words[0], list(words), environment)
    shown, left = "", list(typed)
    while True:
        if left and left[0][0] in shown:
            os.write(terminal, left.pop(0)[1].encode())
        ready, _, _ = select.select([terminal], [], [], 60)
        assert ready, f"nothing more was shown after: {shown}"
        try:
            read = os.read(terminal, 65536).decode(errors="replace")
        except OSError:  # the program has ended
            break
        if not read:
            break
        shown += read
    os.waitpid(number, 0)
    os.close(terminal)
    return shown.replace("\r\n", "\n")


# Help


def test_the_help_lists_every_command_on_one_line_below_its_group(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "80")
        with pytest.raises(SystemExit, match="0"):
            main(["--help"])
    out = capsys.readouterr().out
    sections = dict(re.findall(r"^(\w+):\n((?:  .*\n)+)", out, re.MULTILINE))
    assert list(sections) == ["options", "score", "prepare", "rank", "review", "run"]
    listed = {name: re.findall(r"^  (\w+(?: \w+)?)  +\w", text, re.MULTILINE) for name, text in sections.items()}
    assert listed["score"] == ["evaluate", "validate", "invoke"]
    assert {"new", "check", "keys new", "bundle codabench", "completion"} <= {*listed["prepare"]}
    assert {"judge", "judge calibrate", "arena init", "arena simulate"} <= {*listed["review"]}
    assert {"rank", "report"} <= {*listed["rank"]}
    assert {"batch", "simulate", "freehand pack"} <= {*listed["run"]}
    for name in list(sections)[1:]:
        assert len(listed[name]) == sections[name].count("\n"), f"a summary in '{name}' takes two lines"


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_every_command_and_its_example(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main([*name.split(), "--help"])
    out = capsys.readouterr().out
    assert "exit codes: 0: success; 1: error in the submission; 2:" in " ".join(out.split())
    _, parser = load_command(name)
    example = getattr(parser.kind, "example", None)
    assert ("\nexample:\n" in out) == (example is not None)
    if example:
        assert f"example:\n  podium {name} {example}\n" in out
        parser.read(shlex.split(example))


def test_the_help_of_commands_of_two_words(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["freehand", "--help"])
    assert re.findall(r"^  (\w+ \w+)  ", capsys.readouterr().out, re.MULTILINE) == ["freehand pack", "freehand plot"]
    with pytest.raises(SystemExit, match="2"):
        main(["freehand"])


# Suggestions


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (("rnak", "x"), "'rnak' is not known; did you mean 'rank'?"),
        (("arena", "inti"), "'inti' is not known; did you mean 'init'?"),
        (("judge", "calibrte"), "there is no 'calibrte'; did you mean 'calibrate'?"),
        (("rank", "x", "--ouput", "y"), "there is no option --ouput; did you mean '--output'?"),
        (("rank", "x", "--ouput=y"), "there is no option --ouput; did you mean '--output'?"),
        (("batch", "x", "--outptu", "y"), "there is no option --outptu; did you mean '--output'?"),
        (("--verison",), "there is no option --verison; did you mean '--version'?"),
        (("rank", "x", "--scheme", "offical"), "argument --scheme: 'offical' is not known; did you mean 'official'?"),
        (("zzz",), "'zzz' is not known; choose from: evaluate, validate, "),
        (("rank", "x", "--zzz"), "there is no option --zzz\n"),
    ],
)
def test_what_was_probably_meant(words: Sequence[str], meant: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(words)
    assert meant in capsys.readouterr().err


def test_abbreviated_options_still_work(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rank", "--out", "x", "nowhere"]) == 2
    assert "nowhere" in capsys.readouterr().err


def test_a_path_like_a_command_is_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "calibrat").mkdir()
    with pytest.raises(SystemExit, match="2"):
        main(["judge", "calibrat"])  # the option --references is missing; the path is not


# Completion

CASES = [
    ("podium ra", "rank"),
    ("podium arena inv", "invite"),
    ("podium judge cali", "calibrate"),
    ("podium rank --outp", "--output"),
    ("podium judge calibrate --judged-a", "--judged-again"),
    ("podium rank x --scheme off", "official"),
    ("podium scribbles sh", "show"),
    ("podium evaluate --platform med", "medperf"),
    ("podium check READM", "README.md"),
]


def script_for(shell: str, folder: Path) -> Path:
    if shutil.which(shell) is None:
        report = pytest.fail if os.environ.get("PODIUM_REQUIRE_CONTAINER") == "1" else pytest.skip
        report(f"{shell} is not installed: apt-get install {shell}")
    done = subprocess.run([*PODIUM, "completion", shell], cwd=ROOT, check=True, capture_output=True, text=True)
    path = folder / "completion"
    path.write_text(done.stdout)
    return path


@pytest.mark.parametrize(
    "shell", [("bash", "--norc", "--noprofile", "-i"), ("zsh", "-f", "-i")], ids=lambda each: each[0]
)
def test_the_tab_key_in_a_real_shell(shell: Sequence[str], tmp_path: Path) -> None:
    script = script_for(shell[0], tmp_path)
    with script.open("a") as stream:  # what is run after it was completed is shown, unless it completes
        stream.write('podium() { [ -n "$_ARGCOMPLETE" ] && command podium "$@" || echo "[$*]"; }\n')
    start = f"source {script}; echo rea''dy\n"
    runs = [" ".join([*words.split()[1:-1], found]) for words, found in CASES]
    shown_before = ["ready", *(f"[{each}" for each in runs)]
    lines = [f"{words}\t\n" for words, _ in CASES]
    typed = [("", start), *zip(shown_before, [*lines, "exit\n"], strict=True)]
    shown = at_terminal(shell, typed, columns=200)
    assert re.findall(r"^\[(.*?) ?\]$", shown.replace("\r", ""), re.MULTILINE) == runs, shown


def test_completion_in_fish(tmp_path: Path) -> None:
    script = script_for("fish", tmp_path)
    for words, found in CASES:
        program = ["fish", "--no-config", "-c", f"source {script}; complete -C '{words}'"]
        environment = {**os.environ, **INSTALLED}
        done = subprocess.run(program, env=environment, cwd=ROOT, check=True, capture_output=True, text=True)
        assert [line.partition("\t")[0] for line in done.stdout.split("\n") if line] == [found], words


# Tables and progress


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    """A table with more metrics than a terminal of 80 columns has room for."""
    metrics = [f"metric{number}" for number in range(9)]
    rows = [
        f"{team},case{case}," + ",".join(f"0.{(case * 7 + number * 3 + len(team)) % 10}" for number in range(9))
        for team in ("north", "a-team-with-a-long-name")
        for case in range(12)
    ]
    path = tmp_path / "scores.csv"
    path.write_text("\n".join([",".join(["team", "case", *metrics]), *rows]))
    return path


def ranked(scores: Path) -> list[str]:
    output = str(scores.parent / "out")
    return [*PODIUM, "rank", str(scores), "--direction", "higher", "--replicates", "20", "--output", output]


def test_the_table_says_how_many_columns_it_does_not_show(scores: Path) -> None:
    shown = at_terminal(ranked(scores))
    found = re.search(r"^(\d) columns are not shown here; ranking.csv has all columns.$", shown, re.MULTILINE)
    headings = next(line for line in shown.split("\n") if line.startswith("#  Team"))
    assert found, shown
    assert int(found[1]) + headings.count("metric") == 9
    assert max(map(len, shown.split("\n"))) <= 80


def test_a_table_does_not_shrink_where_it_is_piped(scores: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    done = subprocess.run(ranked(scores), env=environment, cwd=ROOT, check=True, capture_output=True, text=True)
    headings = next(line for line in done.stdout.split("\n") if line.startswith("#  Team"))
    assert headings.count("metric") == 4, "all columns of the final table"
    assert "5 columns are not shown here" in done.stdout
    assert any(len(line) > 80 for line in done.stdout.split("\n")), "and no sentence is broken"


def test_ranking_shows_its_progress(scores: Path) -> None:
    shown = at_terminal(ranked(scores), term="xterm")
    steps = 9 * 6  # five schemes and the tests, by every metric
    for stage in ("reading .*0/1", rf"ranking .*\d+/{steps}", "writing .*0/2"):
        assert re.search(stage, shown), stage
    page = at_terminal([*PODIUM, "report", str(scores.parent / "out/ranking.json")], term="xterm")
    assert re.search("writing .*0/2", page), page


def test_several_parts_do_not_repeat_what_they_have_in_common(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    each = product("ab", enumerate("xyz"), (1, 2))
    rows = [f"{team},{case},{task},0.{number}{case}" for task, (number, team), case in each]
    (tmp_path / "scores.csv").write_text("\n".join(["team,case,task,dice", *rows]))
    words = ["rank", str(tmp_path / "scores.csv"), "--direction", "higher", "--output", str(tmp_path / "out")]
    monkeypatch.setenv("COLUMNS", "400")
    assert main(words) == 0
    out = capfd.readouterr().out
    sentences = [line for line in out.splitlines() if line.endswith(".") and "Written to" not in line]
    assert len(sentences) == len(set(sentences)), out
    assert sum(line.startswith("Rule: ") for line in sentences) == 1


def test_colour_is_for_terminals_that_have_it(tmp_path: Path) -> None:
    (tmp_path / "scores.csv").write_text("team,case,dice\na,x,0.9\nb,x,0.8\n")
    rank = [*PODIUM, "rank", str(tmp_path / "scores.csv"), "--direction", "higher", "--output", str(tmp_path / "out")]
    broken = [*PODIUM, "rank", str(tmp_path / "none.json")]
    assert re.search(r"\x1b\[1;32m0\.900", at_terminal(rank, term="xterm")), "the best"
    assert "\x1b[31m" in at_terminal(broken, term="xterm"), "a failure"
    for words in (rank, broken):
        assert "\x1b[" not in at_terminal(words, term="dumb")
        assert "\x1b[" not in subprocess.run(words, cwd=ROOT, check=False, capture_output=True, text=True).stdout


def test_a_summary_on_both_streams_is_read_once_at_a_terminal(tmp_path: Path) -> None:
    words = [*PODIUM, "evaluate", *REPORTS, "--output", str(tmp_path), "--workers", "1"]
    result = f"Score 0.5527 (20 of 20 cases) -> {tmp_path}/metrics.json"
    assert at_terminal(words, columns=200).count(result) == 1
    done = subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True)
    assert done.stdout.endswith(f"{result}\n")
    assert done.stderr.endswith(f"{result}\n")
