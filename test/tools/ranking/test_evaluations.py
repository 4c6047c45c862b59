"""The platform's export of evaluations: what is ranked, what is left out, and what is refused."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tools.ranking.files import FAIR, GOOD, POOR, carotid_document, three_teams, write_teams

from podium.errors import UsageError
from podium.platform.metrics_file import MetricsFile
from podium.platform.sealing import new_key, seal
from podium.tools.ranking.documents import PerTeam, cohorts_from, read_cohorts, read_evaluations
from podium.tools.ranking.rank import rank
from podium.tools.ranking.schemes import RankingOptions


def evaluation(team: str, value: Any, number: int = 0, **changes: Any) -> dict[str, Any]:
    """What the platform's API gives of one evaluation; `number` counts the days."""
    created = f"2026-05-{number + 1:02}T10:00:00.123456+02:00"
    phase = {"pk": "1f0c", "title": "Final", "slug": "final", "challenge": {"title": "Plaque", "short_name": "plaque"}}
    return {
        "pk": f"{team}-{number}",
        "method": "https://example.org/methods/1/",
        "submission": {
            "pk": changes.pop("submission", f"s-{team}-{number}"),
            "phase": {**phase, **changes.pop("phase", {})},
            "created": created,
            "creator": {"username": team},
            "comment": "",
        },
        "created": created,
        "published": True,
        "outputs": [
            {changes.pop("socket", "interface"): {"slug": "metrics-json-file", "kind": "Anything"}, "value": value},
            {"interface": {"slug": "result-chart"}, "value": None},
        ],
        "rank": 1,
        "rank_score": 0.5,
        "status": "Succeeded",
        "exec_duration": "PT3M2S",
        "invoke_duration": None,
        **changes,
    }


def written(path: Path, content: Any) -> Path:
    path.write_text(json.dumps(content))
    return path


def page(evaluations: Sequence[Any], *, count: int) -> dict[str, Any]:
    return {"count": count, "next": None, "previous": None, "results": evaluations}


def as_stored(value: Any) -> Any:
    """The platform's database sorts keys by length, then by letter."""
    if isinstance(value, Mapping):
        return {key: as_stored(value[key]) for key in sorted(value, key=lambda key: (len(key), key))}
    return [as_stored(each) for each in value] if isinstance(value, list) else value


def teams_and_notes(*paths: Path, per_team: PerTeam | None = None, **options: Any) -> tuple[dict[str, str], list[str]]:
    """The evaluation of every team, and the notes."""
    (cohort,) = cohorts_from(paths, per_team=per_team, **options)
    return {file.team: file.label for file in cohort.files}, [*cohort.notes]


def refusal(*paths: Path, **options: Any) -> str:
    with pytest.raises(UsageError) as refused:
        cohorts_from(paths, **options)
    return str(refused.value)


@pytest.mark.parametrize("socket", ["interface", "socket"])
def test_a_list_gives_the_ranking_of_the_teams_files(tmp_path: Path, socket: str) -> None:
    export = [evaluation(team, as_stored(value), socket=socket) for team, value in three_teams().items()]
    options = RankingOptions(bootstraps=20)
    (cohort,) = read_cohorts([write_teams(tmp_path / "teams", three_teams())])
    of_files = rank(cohort, options)
    (cohort,) = cohorts_from([written(tmp_path / "evaluations.json", export)])
    of_export = rank(cohort, options)
    metrics = {each.name: each for each in of_export.metrics}  # the database does not keep the order of classes
    assert metrics == {each.name: each for each in of_files.metrics}
    assert replace(of_export, metrics=()) == replace(of_files, metrics=())


def test_figures_may_be_stored_before_those_that_they_are_made_of(tmp_path: Path) -> None:
    document = three_teams()["good"]
    figures = {"b": "a + z", "a": {"formula": "z"}, "z": "segmentation"}
    document["settings"]["figures"] = {**figures, **document["settings"]["figures"]}
    (cohort,) = cohorts_from([written(tmp_path / "evaluations.json", [evaluation("good", document)])])
    formulas = [each.path for each in cohort.challenge.scoreboard.formulas]
    assert sorted(("z", "a", "b"), key=formulas.index) == ["z", "a", "b"]


def test_pages_are_read_together_and_none_may_be_missing(tmp_path: Path) -> None:
    documents = three_teams()
    entries = [evaluation(team, value) for team, value in documents.items()]
    first = written(tmp_path / "evaluations.json", page(entries[:2], count=3))
    second = written(tmp_path / "page2.json", page(entries[1:], count=3))
    assert [*teams_and_notes(second, first)[0]] == ["fair", "good", "poor"]
    words = "The pages have 2 of 3 evaluations: give all pages ('next' leads to them)."
    assert refusal(first) == words


def test_failed_unpublished_and_superseded_evaluations_are_named_and_left_out(tmp_path: Path) -> None:
    good, fair = carotid_document(GOOD), carotid_document(FAIR)
    export = [
        evaluation("ada", good, 0, submission="first"),
        evaluation("ada", fair, 3, submission="first"),
        evaluation("ada", fair, 4),
        evaluation("bob", None, 1, status="Failed", outputs=[]),
        evaluation("bob", good, 0),
        evaluation("cyd", good, 2, published=False),
    ]
    found, notes = teams_and_notes(written(tmp_path / "evaluations.json", export))
    assert found == {"ada": "ada (evaluation ada-4)", "bob": "bob (evaluation bob-0)"}
    assert notes == [
        "Left out, not successful: bob (evaluation bob-1): Failed.",
        "Left out, not published: cyd (evaluation cyd-2).",
        "Left out, evaluated again: ada (evaluation ada-0).",
        "Left out, superseded by a newer one: ada (evaluation ada-3).",
    ]


def test_the_best_of_a_team_is_the_newest_of_equals_and_no_evaluation_that_was_done_again(tmp_path: Path) -> None:
    good, fair, poor = (carotid_document(quality) for quality in (GOOD, FAIR, POOR))
    export = [
        evaluation("ada", good, 0, submission="first"),
        evaluation("ada", fair, 1, submission="first"),
        evaluation("ada", fair, 2),
        evaluation("ada", poor, 3),
        evaluation("bob", poor, 0),
    ]
    path = written(tmp_path / "evaluations.json", export)
    found, notes = teams_and_notes(path, per_team="best")
    assert found["ada"] == "ada (evaluation ada-2)"
    assert notes[-1] == "Left out, worse than another of the team: ada (evaluation ada-1) and ada (evaluation ada-3)."


def test_the_newest_submission_counts_in_whichever_order_submissions_are_evaluated_again(tmp_path: Path) -> None:
    good, fair = carotid_document(GOOD), carotid_document(FAIR)
    first, second = evaluation("ada", fair, 0), evaluation("ada", good, 1)
    again = {"created": "2026-06-01T10:00:00Z", "pk": "again"}  # the older submission was evaluated again, the last
    found, _ = teams_and_notes(written(tmp_path / "evaluations.json", [first, second, {**first, **again}]))
    assert found == {"ada": "ada (evaluation ada-1)"}


def test_an_evaluation_without_a_score_is_never_the_best(tmp_path: Path) -> None:
    fair, nothing = carotid_document(FAIR), carotid_document(GOOD)
    del nothing["aggregates"]["score"]
    path = written(tmp_path / "evaluations.json", [evaluation("ada", fair, 0), evaluation("ada", nothing, 1)])
    assert teams_and_notes(path, per_team="best")[0] == {"ada": "ada (evaluation ada-0)"}


def test_what_the_platform_filters_for_participants_is_said_to_be_missing(tmp_path: Path) -> None:
    columns = {"aggregates": {"score": 71.5, "dice": {"mean": 0.8}}}
    export = [evaluation("ada", carotid_document(GOOD)), evaluation("bob", columns)]
    path = written(tmp_path / "evaluations.json", export)
    assert refusal(path) == (
        "bob (evaluation bob-0) holds only aggregates.score and aggregates.dice.mean, without schema, settings, counts "
        "and results: the platform filters metrics.json for participants (display_all_metrics); export it with an "
        "account that administers the challenge. --skip-broken ranks the others."
    )
    found, notes = teams_and_notes(path, skip_broken=True)
    assert [*found] == ["ada"]
    assert notes[-1].startswith("Left out: bob (evaluation bob-0) holds only aggregates.score")


def test_sealed_rows_are_opened_with_the_key(tmp_path: Path) -> None:
    path = tmp_path / "key"
    whole = MetricsFile.model_validate(carotid_document(GOOD))
    box = seal(whole, published=whole.aggregates, ground_truth=b"t", submission="s", public_key=new_key(path))
    hidden = whole.model_copy(update={"results": [], "sealed": box}).document()
    (cohort,) = cohorts_from([written(tmp_path / "evaluations.json", [evaluation("ada", hidden)])], key=path)
    assert len(cohort.files[0].cases) == len(GOOD)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("[", " is not valid JSON."),
        ("[{}]", " is not an export of the platform's evaluations ('0.pk' is missing)."),
        ('{"count": 1}', " is not an export of the platform's evaluations (is wrong: it must be a list)."),
    ],
)
def test_what_is_no_export(tmp_path: Path, content: str, words: str) -> None:
    path = tmp_path / "evaluations.json"
    path.write_text(content)
    assert refusal(path) == f"{path}{words}"


def test_one_export_holds_one_phase_and_is_ranked_alone(tmp_path: Path) -> None:
    good = carotid_document(GOOD)
    export = [evaluation("ada", good), evaluation("bob", good, phase={"pk": "2", "title": "Preliminary"})]
    both = written(tmp_path / "evaluations.json", export)
    assert refusal(both) == "The evaluations are of several phases ('Final' and 'Preliminary'): export one phase."
    one, other = written(tmp_path / "one.json", export[:1]), written(tmp_path / "good.json", good)
    assert refusal(one, other) == f"{one} is an export of evaluations and is ranked without other files: {other}."
    assert "--per-team" in refusal(other, per_team="best")


def test_nothing_to_rank_says_what_became_of_every_evaluation(tmp_path: Path) -> None:
    path = written(tmp_path / "evaluations.json", [evaluation("bob", None, status="Cancelled")])
    assert refusal(path) == (
        "No evaluation can be ranked. Left out, not successful: bob (evaluation bob-0): Cancelled."
    )


def test_the_newest_is_the_latest_in_any_time_zone(tmp_path: Path) -> None:
    good = carotid_document(GOOD)
    times = {"late": "2026-05-01T10:00:00Z", "early": "2026-05-01T11:00:00+02:00", "bare": "2026-05-01T08:00:00"}
    export = [evaluation("ada", good, pk=pk, created=created) for pk, created in times.items()]
    path = written(tmp_path / "evaluations.json", export)
    assert [each.pk for each in read_evaluations([path])] == ["bare", "early", "late"]
