"""Score tables: long and wide, what is refused in which words, and the worked example under every scheme."""

import io
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tools.ranking.files import TEAMS, VALUES, said

from podium.cli.main import main
from podium.errors import UsageError
from podium.tools.ranking.rank import consensus, rank, rank_all, rank_paths
from podium.tools.ranking.result import Ranking, ranking_from_json
from podium.tools.ranking.schemes import RankingOptions
from podium.tools.ranking.tables import ScoreTable, TableOptions, _keys, read_score_table, table_cohorts

FEW = RankingOptions(bootstraps=20)
HIGHER = TableOptions(directions={"": "higher"}, worst={"value": 0.0})
WIDE = "team,case,dice,hd95\na,1,0.9,2\na,2,0.8,3\nb,1,0.7,4\nb,2,0.6,1\n"


def table(tmp_path: Path, text: str, name: str = "scores.csv") -> ScoreTable:
    (tmp_path / name).write_text(text, encoding="utf-8")
    return read_score_table(tmp_path / name)


def ranked(found: ScoreTable, options: TableOptions, wanted: RankingOptions = FEW) -> Ranking:
    (cohort,) = table_cohorts(found, options)
    return rank(cohort, wanted)


def by_team(ranking: Ranking) -> dict[str, Any]:
    return {team.name: (team.rank, team.score) for team in ranking.teams}


@pytest.fixture
def golden(tmp_path: Path) -> ScoreTable:
    """The worked example as a long table; the missing value is a missing row."""
    rows = [
        f"{team},c{number},{value}"
        for team, values in zip(TEAMS, VALUES, strict=True)
        for number, value in enumerate(values, start=1)
        if value is not None
    ]
    return table(tmp_path, "\n".join(["team,case,value", *rows]))


def test_the_worked_example_from_a_table(golden: ScoreTable) -> None:
    found = by_team(ranked(golden, HIGHER, replace(FEW, scheme="rank-then-mean")))
    assert found == {"A": (1, 1.375), "B": (2, 2.25), "C": (3, 2.5), "D": (4, 3.625)}


def test_without_a_scheme_the_mean_decides(golden: ScoreTable) -> None:
    ranking = ranked(golden, HIGHER)
    assert ranking.deciding_scheme == "mean-then-rank"
    assert "official" not in [scheme.scheme for scheme in ranking.schemes]
    assert not any("official" in each for each in (*said(ranking), *ranking.methods.sentences))
    assert "4 teams took part in scores, evaluated on 8 cases." in ranking.methods.sentences
    assert ranking.teams[3].missing == 1
    assert ranking.columns[0].values == pytest.approx([0.86875, 0.8625, 0.82, 0.65])


def test_a_table_from_python(tmp_path: Path) -> None:
    (tmp_path / "scores.csv").write_text(TASKS)
    found = rank_paths(tmp_path / "scores.csv", options=FEW, table=TableOptions(directions={"": "higher"}))
    assert [ranking.teams[0].name for ranking in found] == ["a", "a", "b"]


def test_long_and_wide_tables_say_the_same(tmp_path: Path) -> None:
    options = TableOptions(directions={"dice": "higher", "hd95": "lower"})
    long = "team\tcase\tmetric\tdirection\tvalue\n" + "".join(
        f"{team}\t{case}\t{metric}\t{direction}\t{value}\n"
        for team, case, dice, hd95 in (line.split(",") for line in WIDE.splitlines()[1:])
        for metric, direction, value in (("dice", "higher", dice), ("hd95", "lower", hd95))
    )
    wide = ranked(table(tmp_path, WIDE), options)
    assert ranked(table(tmp_path, long, "scores.tsv"), TableOptions()) == wide
    assert [metric.name for metric in wide.metrics] == ["dice", "hd95"]
    assert wide.deciding.score_title == "Mean position"
    assert by_team(wide) == {"a": (1, 1.0), "b": (2, 1.5)}  # equal means of hd95


def test_weights_of_the_positions(tmp_path: Path) -> None:
    text = "team,case,dice,hd95\na,1,0.9,9\nb,1,0.7,4\nc,1,0.6,5\n"
    options = TableOptions(directions={"": "higher", "hd95": "lower"}, weights={"hd95": 3.0})
    found = by_team(ranked(table(tmp_path, text), options, replace(FEW, weights={"hd95": 3.0})))
    assert found == {"a": (3, (1 + 3 * 3) / 4), "b": (1, (2 + 3 * 1) / 4), "c": (2, (3 + 3 * 2) / 4)}


def test_metrics_by_pattern_and_titles_that_are_no_keys(tmp_path: Path) -> None:
    text = "team,case,HD95 (left),HD95 (right)\na,1,3,\nb,1,2,1\n"
    options = TableOptions(directions={"HD95*": "lower"}, worst={"*": 100.0, "HD95*": 500.0})
    ranking = ranked(table(tmp_path, text), options, replace(FEW, metrics=("HD95 (right)",)))
    assert by_team(ranking) == {"b": (1, 1.0), "a": (2, 500.0)}
    assert [metric.title for metric in ranking.metrics] == ["HD95 (right)", "HD95 (left)"], "the chosen one first"


def test_excluded_cases_count_for_no_team(tmp_path: Path) -> None:
    text = "team,case,value\na,1,.2\na,2,.9\nb,1,.4\nb,2,NA\nb,3,.1\na,3,.3\n"
    options = TableOptions(directions={"": "higher"}, missing="exclude")
    ranking = ranked(table(tmp_path, text), options)
    assert by_team(ranking) == {"a": (1, 0.25), "b": (1, 0.25)}
    assert any("1 of 3 cases are left out of 'value' for all teams" in note for note in said(ranking))
    assert "A case without a value from some team was left out of that metric for all teams." in (
        ranking.methods.sentences
    )


def test_means_by_group(tmp_path: Path) -> None:
    text = "team,case,value,group\na,1,.2,north\na,2,.4,north\na,3,.9,The South\n"
    ranking = ranked(table(tmp_path, text), HIGHER)
    columns = {column.title: column for column in ranking.columns}
    assert columns["value, north"].values == pytest.approx([0.3])
    assert columns["value, The South"].values == pytest.approx([0.9])
    assert columns["value, The South"].intervals == ((0.9, 0.9),)
    with pytest.raises(UsageError, match="The case '1' is in the groups 'north' and 'south'"):
        ranked(table(tmp_path, "team,case,value,group\na,1,.2,north\nb,1,.4,south\n"), HIGHER)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty."),
        ("case,value\n1,2\n", "has no column 'team'; a table of scores needs team, case and value or metrics."),
        ("team,case\na,1\n", "has no column with values: a long table needs 'value', a wide one a column per metric."),
        ("team,case,value\n", "has no rows."),
        ("team,case,Team,value\na,1,b,2\n", "has the column 'team' twice."),
        (
            "team,case,value,dice\na,1,2,3\n",
            "has the columns 'value' and 'dice': it is neither a long nor a wide table.",
        ),
        ("team,case,value\na,1\n", ", row 2: there are 2 cells, but the header has 3."),
        ("team,case,value\n,1,2\n", ", row 2: 'team' is empty."),
        ("team,case,value\na,1,good\n", ", row 2: 'value' is 'good', which is not a finite number."),
        ("team,case,value\na,1,inf\n", ", row 2: 'value' is 'inf', which is not a finite number."),
        ("team,case,value\na,1,1_0\n", ", row 2: 'value' is '1_0', which is not a finite number."),
        ("team,case,value\na,1,\u0661\u0662\n", ", row 2: 'value' is '\u0661\u0662', which is not a finite number."),
        ("team,case,value\na,1,1e308\n", ", row 2: 'value' is '1e308'; the largest number is 1e+200."),
        ("team,case,value\na,1,1e999\n", ", row 2: 'value' is '1e999'; the largest number is 1e+200."),
        ("team;case;value\na;1;0,5\n", ", row 2: 'value' is '0,5', which is not a finite number."),
        ("team,case,value\na,1,1\na,1,2\n", " has 'value' of the team 'a' for the case '1' twice."),
        ("team,case,value,direction\na,1,1,up\n", ", row 2: the direction is 'up', not 'higher' or 'lower'."),
        (
            "team,case,value,direction\na,1,1,lower\nb,1,1,higher\n",
            ", row 3: the direction of 'value' is 'higher', but an earlier row has the other direction.",
        ),
    ],
)
def test_what_is_no_table_of_scores(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(UsageError) as refused:
        table(tmp_path, text)
    assert str(refused.value).removeprefix(str(tmp_path / "scores.csv")).strip() == words.strip()


def test_a_table_of_many_columns_is_read_in_linear_time(tmp_path: Path) -> None:
    """16,000 took 11 seconds when every column was compared with every other."""
    head = ",".join(f"m{number}" for number in range(16_000))
    started = time.process_time()
    found = table(tmp_path, f"team,case,{head}\na,1,{','.join(['1'] * 16_000)}\n")
    assert time.process_time() - started < 3
    assert len(found.metrics) == 16_000
    assert len(set(_keys(found.metrics).values())) == 16_000
    assert time.process_time() - started < 4


def test_names_that_become_the_same_key_are_numbered() -> None:
    assert _keys(["a_3", "a", "a!"]) == {"a_3": "a_3", "a": "a", "a!": "a_4"}


@pytest.mark.parametrize("rows", [b"\xff\xfe,1,2\n", b'a,1,"2\n'])
def test_what_is_no_csv(tmp_path: Path, rows: bytes) -> None:
    (tmp_path / "scores.csv").write_bytes(b"team,case,value\n" + rows)
    with pytest.raises(UsageError, match=r"scores\.csv"):
        read_score_table(tmp_path / "scores.csv")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (TableOptions(), "Is higher or lower better in 'value'? Give --direction value=higher or value=lower."),
        (
            TableOptions(directions={"": "higher"}),
            "The team 'D' has no 'value' for the case 'c3' (1 such). Give its value (--worst value=VALUE), or "
            "leave out such cases (--missing exclude).",
        ),
        (
            replace(HIGHER, missing="error"),
            "The team 'D' has no 'value' for the case 'c3' (1 such).",
        ),
        (
            replace(HIGHER, worst={"value": 0.5}),
            "--worst value=0.5, but the team 'A' has 0.3 for the case 'c8': a missing value would be better than that.",
        ),
        (
            replace(HIGHER, weights={"dice": 1.0}),
            "--weights names 'dice', which the table does not have; it has: value.",
        ),
    ],
)
def test_what_a_table_needs_said(golden: ScoreTable, options: TableOptions, words: str) -> None:
    with pytest.raises(UsageError) as refused:
        table_cohorts(golden, options)
    assert str(refused.value) == words


def test_a_case_that_every_team_lacks_somewhere(tmp_path: Path) -> None:
    found = table(tmp_path, "team,case,value\na,1,1\nb,2,1\n")
    with pytest.raises(UsageError, match="No case has a value of 'value' from every team"):
        table_cohorts(found, replace(HIGHER, missing="exclude"))


def test_control_characters_in_names_are_shown_not_sent(tmp_path: Path) -> None:
    ranking = ranked(table(tmp_path, "team,case,value\n\x1b[31mred,\x07c1,1\n"), HIGHER)
    assert ranking.teams[0].name == "\\x1b[31mred"
    assert ranking.cases == ("\\x07c1",)


# Several tasks


TASKS = "team,case,task,value\n" + "".join(
    f"{team},{case},{task},{value}\n"
    for task, values in {"liver": (3, 2, 1), "spleen": (3, 1, 2), "../kidney": (1, 3, 2)}.items()
    for team, value in zip("abc", values, strict=True)
    for case in ("1", "2")
)


def test_the_consensus_of_several_tasks(tmp_path: Path) -> None:
    cohorts = table_cohorts(table(tmp_path, TASKS), TableOptions(directions={"": "higher"}))
    assert [cohort.division for cohort in cohorts] == [{"task": "liver"}, {"task": "spleen"}, {"task": "../kidney"}]
    found = consensus(rank_all(cohorts, FEW), FEW)
    assert found.teams == ("a", "b", "c")
    assert found.ranks == ((1, 2, 3), (1, 3, 2), (3, 1, 2))
    assert found.mean_ranks == pytest.approx((5 / 3, 2, 7 / 3))
    assert found.mean_rank_intervals[0] == pytest.approx((5 / 3, 5 / 3))
    assert found.consensus_ranks == (1, 2, 3)
    assert found.kemeny == ("a", "b", "c")
    assert found.kemeny_disagreements == 3  # one in spleen (b, c), two in kidney (a before both)
    assert found.task_taus == pytest.approx((1, 1 / 3, -1 / 3))
    assert found.stability.rank_frequencies[0][0] == 1.0, "all cases are alike, so every replicate is"


def test_a_team_that_a_task_lacks_misses_all_of_its_cases(tmp_path: Path) -> None:
    text = "team,case,task,value\na,1,x,1\nb,1,x,2\na,1,y,1\n"
    cohorts = table_cohorts(table(tmp_path, text), HIGHER)
    found = consensus(rank_all(cohorts, FEW), FEW)
    assert found.ranks == ((2, 1), (1, 2))
    assert found.consensus_ranks == (1, 1)


@pytest.mark.parametrize(("weights", "mean"), [({}, "mean"), ({"dice": 2.0}, "weighted mean")])
def test_several_metrics_are_ranked_by_their_mean_position_and_the_words_say_so(
    tmp_path: Path, weights: dict[str, float], mean: str
) -> None:
    options = TableOptions(directions={"dice": "higher", "hd95": "lower"})
    ranking = ranked(table(tmp_path, WIDE), options, replace(FEW, weights=weights))
    rule = f"by the mean over cases, separately by every metric, and then by the {mean} of these positions"
    assert ranking.deciding.score_title == "Mean position"
    assert ranking.deciding.words == f"teams are ranked {rule}"
    assert f"For the table shown here, teams are ranked {rule} (dice and hd95)." in ranking.methods.sentences
    alone = ranked(table(tmp_path, WIDE), options, replace(FEW, metrics=("dice",)))
    assert alone.deciding.words == "teams are ranked by the mean over cases"


# The command


def test_the_command_ranks_a_table_and_its_tasks(podium: Any, tmp_path: Path) -> None:
    (tmp_path / "scores.csv").write_text(TASKS)
    out = tmp_path / "out"
    arguments = ("--direction", "higher", "--replicates", "20", "--output", out)
    ended = podium("rank", tmp_path / "scores.csv", *arguments)
    assert ended.code == 0
    assert sorted(path.name for path in out.iterdir()) == [
        *("consensus.csv", "consensus.json", "figures", "kidney", "liver", "report.html", "spleen"),
    ], "the name of a task leads to no folder outside"
    assert "Kemeny order: a, b, c." in ended.out
    ranking = ranking_from_json((out / "liver" / "ranking.json").read_bytes())
    assert ranking.division == {"task": "liver"}
    assert (out / "consensus.csv").read_text().splitlines()[1].startswith("1,a,1.66")


def test_no_figure_is_cut_where_the_terminal_is_narrow_and_warnings_come_first(
    podium: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [f"a-team-with-a-long-name-{team},{case},0.{team}{case},{team + case}" for team in (7, 8) for case in (1, 2)]
    (tmp_path / "scores.csv").write_text("\n".join(["team,case,dice,hd95", *rows]))
    arguments = ("rank", tmp_path / "scores.csv", "--direction", "higher,hd95=lower", "--output", tmp_path / "out")
    printed = {}
    for width in ("80", "200"):
        monkeypatch.setenv("COLUMNS", width)
        printed[width] = podium(*arguments).out
    assert "0.815" in printed["200"], "the mean Dice of the better team"
    assert "[0.810, 0.820]" in printed["200"]
    assert "[0.810, 0.820]" in printed["80"] or "0.81" not in printed["80"], "a whole column or none"
    assert max(map(len, printed["80"].splitlines())) <= 80
    below = printed["200"].split("Rule: ")[0]
    assert "There are only 2 cases" in below


def test_a_table_from_standard_input(podium: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(WIDE.encode())))
    arguments = ("--direction", "dice=higher,hd95=lower", "--replicates", "0", "--output", tmp_path / "out")
    assert podium("rank", "-", *arguments).code == 0
    assert ranking_from_json((tmp_path / "out" / "ranking.json").read_bytes()).title == "scores"


def test_options_may_be_given_several_times(podium: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "scores.csv").write_text(WIDE)
    several = ("--direction", "dice=higher", "--direction", "hd95=lower", "--weights", "dice=2", "--weights", "hd95=1")
    arguments = ("rank", tmp_path / "scores.csv", *several, "--replicates", "0", "--output", tmp_path / "out")
    assert podium(*arguments).code == 0
    with pytest.raises(SystemExit):
        podium(*arguments, "--direction", "dice=lower")
    assert "argument --direction: 'dice': both higher and lower are given" in capfd.readouterr().err


def test_team_names_that_look_the_same(tmp_path: Path) -> None:
    (tmp_path / "scores.csv").write_text("team,case,dice\nMy Team,a,1\nMyTeam,a,0.5\n")
    with pytest.raises(UsageError, match="The team names"):
        read_score_table(tmp_path / "scores.csv")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("a.csv", "b.csv"), "A table of scores is ranked alone: give one table, with all teams in it."),
        (("a.csv", "--skip-broken"), "--skip-broken belongs to metrics.json files, not to a table of scores."),
        (("a.csv", "--arena", "x.json"), "--arena belongs to metrics.json files, not to a table of scores."),
        (("teams", "--worst", "a=1"), "--worst belongs to a table of scores: a challenge declares its own metrics."),
        (("none.csv",), "none.csv cannot be read: No such file or directory."),
    ],
)
def test_options_of_the_wrong_input(podium: Any, arguments: tuple[str, ...], words: str) -> None:
    ended = podium("rank", *arguments)
    assert (ended.code, ended.err.splitlines()[-1]) == (2, words)


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--direction", "dice=up", "'up' is neither 'higher' nor 'lower'"),
        ("--direction", "higher,lower", "'higher' and 'lower' are both meant for all metrics"),
        ("--worst", "dice", "'dice' is not NAME=VALUE"),
        ("--worst", "dice=inf", "inf is not a finite number"),
        ("--weights", "dice=0", "0 is not a positive number"),
        ("--confidence", "1", "1 is not between 0 and 1"),
    ],
)
def test_values_of_options(capfd: pytest.CaptureFixture[str], option: str, value: str, words: str) -> None:
    with pytest.raises(SystemExit):
        main(["rank", "a.csv", option, value])
    assert words in capfd.readouterr().err


def test_parquet(tmp_path: Path) -> None:
    (tmp_path / "scores.csv").write_text(WIDE)
    path = tmp_path / "scores.parquet"
    try:
        from pyarrow import csv, parquet
    except ImportError:
        path.touch()
        with pytest.raises(UsageError, match="reading Parquet needs the package pyarrow"):
            read_score_table(path)
        return
    parquet.write_table(csv.read_csv(tmp_path / "scores.csv"), path)
    assert read_score_table(path) == read_score_table(tmp_path / "scores.csv")
    path.write_bytes(b"no parquet")
    with pytest.raises(UsageError, match=r"is not a readable Parquet file\."):
        read_score_table(path)
