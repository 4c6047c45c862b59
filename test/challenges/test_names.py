"""The names of figures: what columns, formulas, ranking, tie-breaks, titles or `rank --metric` accept, all accept."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from challenges.declared.declaring import HEAD, errors, metric, score, value
from hypothesis import given
from hypothesis import strategies as st
from places import ROOT

from podium import rank
from podium.challenges import challenge_from_settings
from podium.challenges.challenge import AnyChallenge
from podium.challenges.loading import load_tables
from podium.cli.main import main
from podium.errors import UsageError
from podium.tools.ranking.schemes import RankingOptions

pytestmark = pytest.mark.usefixtures("in_process")

GROUPS = {"cases": {"groups": "^(?P<group>[a-z]+)_"}}


def gallery_tables(name: str) -> dict[str, Any]:
    tables = tomllib.loads((ROOT / "gallery" / name / "challenge.toml").read_text(encoding="utf-8"))
    return {key: table for key, table in tables.items() if isinstance(table, dict | list)}


TABLES: dict[str, tuple[str, dict[str, Any]]] = {
    "lesions": ("lesions", {"lesions": {"empty_reference": "undefined"}, **GROUPS}),
    "hecktor": ("declared", gallery_tables("hecktor") | GROUPS),
    "picai": ("declared", gallery_tables("picai")),
    "midog": ("declared", gallery_tables("midog")),
}


def challenge_with(name: str, **tables: Any) -> AnyChallenge:
    kind, own = TABLES[name]
    return challenge_from_settings(name, kind, merged(own, tables))


def merged(own: dict[str, Any], tables: dict[str, Any]) -> dict[str, Any]:
    """Figures are added to the challenge's own; other tables replace them."""
    return own | tables | {"figures": own.get("figures", {}) | tables.get("figures", {})}


def uses(name: str) -> list[dict[str, Any]]:
    """Every table that can name a figure of all cases, naming this one."""
    return [
        {"leaderboard": {"columns": [name]}},
        {"leaderboard": {"titles": {name: "Title"}}},
        {"figures": {"x": {"formula": f"abs({name} - 0.5)", "direction": "higher", "undefined": "exclude"}}},
        {"ranking": {"by": name}},
        {"ranking": {"by": [name, name], "method": "mean_of_positions"}, "leaderboard": {"columns": [name]}},
        {"ranking": {"by": name, "tie_break": [name]}},
    ]


def uses_of_cases(name: str) -> list[dict[str, Any]]:
    """Every table that can name a figure of single cases, naming this one."""
    return [
        {"case_figures": {"x": {"formula": f"abs({name} - 0.5)", "direction": "higher"}}},
        {"ranking": {"by": name, "method": "positions_by_case"}},
    ]


@pytest.mark.parametrize("name", TABLES)
def test_every_figure_can_be_a_column_a_term_a_title_a_criterion_and_a_tie_break(name: str) -> None:
    board = challenge_with(name).scoreboard
    accepted = set(board.names.suggestions())
    if board.groupings:
        accepted |= {f"groups.fdg.{each}" for each in board.names.of_cases}
        accepted |= {f"{each}.group_mean" for each in board.names.group_means}
    for figure in accepted:
        for tables in uses(figure):
            challenge = challenge_with(name, **tables)
            assert all(column.title for column in challenge.columns()), figure
            challenge.phase_columns()


@pytest.mark.parametrize("name", TABLES)
def test_every_per_case_figure_goes_by_its_name_and_by_that_of_its_mean(name: str) -> None:
    board = challenge_with(name).scoreboard
    for declared in board.metrics:
        names = {declared.name, declared.mean_path, declared.name.removesuffix(".mean")} - {""}
        assert {board.names.find_metric(each) for each in names} == {declared}
        for tables in [tables for each in names for tables in uses_of_cases(each)]:
            challenge_with(name, **tables)


NAMES = {name: challenge_with(name).scoreboard.names.suggestions() for name in TABLES}


@given(st.sampled_from(sorted(TABLES)), st.data())
def test_a_suggestion_is_accepted_and_is_not_what_was_refused(name: str, data: st.DataObject) -> None:
    right = data.draw(st.sampled_from(NAMES[name]))
    place = data.draw(st.integers(0, len(right) - 1))
    wrong = right[:place] + right[place + 1 :]
    kind, own = TABLES[name]
    for use in (uses, uses_of_cases):
        for number, tables in enumerate(use(wrong)):
            for problem in load_tables(name, kind, merged(own, tables)).problems:
                suggested = re.search(r"did you mean '(.+)'\?", str(problem))
                if suggested:
                    assert suggested[1] != wrong
                    challenge_with(name, **use(suggested[1])[number])


def test_titles_are_those_of_the_figure_whatever_it_is() -> None:
    names = ["dice.gtvp.std", "dice.gtvp.median", "dice.gtvp.n", "dice.gtvp.group_mean", "groups.mda.dice_agg.gtvn"]
    columns = challenge_with("hecktor", leaderboard={"columns": names}).columns()[-5:]
    assert [(column.path, column.title) for column in columns] == [
        ("dice.gtvp.std", "Dice gtvp, standard deviation"),
        ("dice.gtvp.median", "Dice gtvp, median"),
        ("dice.gtvp.n", "Dice gtvp, number of cases"),
        ("dice.gtvp_group_mean", "Dice gtvp, mean of groups"),
        ("groups.mda.dice_agg.gtvn", "Aggregated Dice gtvn, mda"),
    ]
    titles = dict.fromkeys(names, "Mine")
    again = challenge_with("hecktor", leaderboard={"columns": names, "titles": titles}).columns()[-5:]
    assert {column.title for column in again} == {"Mine"}


def test_a_figure_of_all_cases_is_no_figure_of_single_cases() -> None:
    kind, own = TABLES["hecktor"]
    (problem,) = load_tables("hecktor", kind, own | {"case_figures": {"x": "dice_agg.gtvn"}}).problems
    assert "names 'dice_agg.gtvn', which is a figure of all cases together: here it must be one of" in str(problem)


# Groups, evaluated and ranked.

AGE = "[cases]\ngroups = '^(?P<group>[a-z]+)_'\n" + value("age", "number", table="p.csv", column="age", range=[0, 100])
AGE += metric("mae") + metric("rmse")
ERRORS = {"a_1": 1, "a_2": 3, "b_1": 8, "b_2": 8, "b_3": 8}
FIGURES = '[figures]\nworst = "max(groups.a.mae, groups.b.mae)"\nfair = "mae.group_mean + 0 * rmse.group_mean"\n'


def table(errors_of: dict[str, float]) -> dict[str, str]:
    return {"p.csv": "\n".join(["case,age", *(f"{case},{value}" for case, value in errors_of.items())])}


def scored(tmp_path: Path, toml: str, teams: dict[str, float], *, per_case: str = "full") -> dict[str, Any]:
    head = HEAD.replace('"full"', f'"{per_case}"')
    truth = table(dict.fromkeys(ERRORS, 0))
    for team, factor in teams.items():
        found = score(
            tmp_path, toml, truth, table({case: factor * error for case, error in ERRORS.items()}), team=team, head=head
        )
    return found["aggregates"]


def test_formulas_name_groups_and_means_over_groups(tmp_path: Path) -> None:
    figures = scored(tmp_path, AGE + FIGURES + '[ranking]\nby = "fair"\n', {"one": 1})
    assert figures["worst"] == 8
    assert figures["fair"] == figures["mae_group_mean"] == (2 + 8) / 2
    assert figures["rmse_group_mean"] == pytest.approx((5**0.5 + 8) / 2)
    assert "worst" not in figures["groups"]["a"]


@pytest.mark.parametrize("by", ["fair", "mae.group_mean", "groups.b.mae", "rmse.group_mean"])
def test_teams_are_ranked_by_figures_of_groups_with_a_bootstrap(tmp_path: Path, by: str) -> None:
    scored(tmp_path, AGE + FIGURES + f'[ranking]\nby = "{by}"\n', {"one": 1, "two": 2})
    ranking = rank(tmp_path / "teams", options=RankingOptions(bootstraps=50))[0]
    assert [(team.name, team.rank) for team in ranking.teams] == [("one", 1), ("two", 2)]
    assert ranking.deciding.score_intervals is not None
    assert ranking.deciding.stability is not None


def test_hidden_groups_hide_formulas_of_them_but_not_what_teams_are_ranked_by(tmp_path: Path) -> None:
    toml = AGE + FIGURES + '[ranking]\nby = "groups.b.mae"\n'
    figures = scored(tmp_path, toml, {"one": 1}, per_case="anonymous")
    assert "fair" not in figures
    assert "worst" not in figures
    assert "mae_group_mean" not in figures
    assert figures["groups"] == {"b": {"mae": {"mean": 10}}}, "8, of a single case: to tens"


def test_a_group_without_a_case_is_found_by_check(tmp_path: Path) -> None:
    toml = AGE + '[figures]\nx = "groups.c.mae"\n[ranking]\nby = "x"\n'
    assert errors(tmp_path, toml, references=table(ERRORS)) == [
        "groups.c.mae.mean: A figure is of a group that no case is in."
    ]


# `podium rank --metric` and `--weights`.


def test_the_command_takes_the_same_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scored(tmp_path, AGE + '[ranking]\nby = "mae"\n', {"one": 1, "two": 2})
    command = ["rank", str(tmp_path / "teams"), "--output", str(tmp_path / "r"), "--bootstraps", "0", "--metric"]
    for name in ("mae", "mae.mean", "MAE"):
        assert main([*command, name, "--weights", f"{name}=2"]) == 0
        ranking = json.loads((tmp_path / "r" / "ranking.json").read_text())
        assert [metric["name"] for metric in ranking["metrics"]] == ["mae"]
    capsys.readouterr()
    for name, sentence in {
        "mea": "There is no metric 'mea'; did you mean 'mae'?",
        "rmse": "'rmse' is a figure of all cases together, not of single cases; the metrics are: mae.",
        "thing": "There is no metric 'thing'; the metrics are: mae.",
    }.items():
        assert main([*command, name]) == UsageError.exit_code
        assert capsys.readouterr().err.splitlines()[-1] == sentence
