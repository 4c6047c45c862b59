"""What `[values]` says for all values, and what a metric derives: the short form of a challenge.toml."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
from challenges.declared.declaring import HEAD, errors, score
from places import ROOT

from podium.challenges import challenge_from_settings
from podium.challenges.challenge import AnyChallenge
from podium.challenges.declared.settings import DeclaredTables

pytestmark = pytest.mark.usefixtures("in_process")

SHORT = """\
[values]
file = "{case}.h5"
reference = "{case}_label.h5"
dataset = "{value}_mask"
labels = { plaque = 1, vessel = 2 }
[values.long]
kind = "labels"
[values.trans]
kind = "labels"
labels = { plaque = 1 }
[values.risk]
kind = "class"
dataset = "cls"
classes = { low = 0, high = 1 }
[values.age]
kind = "number"
table = "ages.csv"
column = "age"
range = [0, 100]
[[metrics]]
kind = "dice"
[[metrics]]
kind = "f1"
[[metrics]]
kind = "mae"
[ranking]
by = "dice"
"""


def values(toml: str) -> dict[str, dict[str, Any]]:
    tables, problems = DeclaredTables.read({**tomllib.loads(toml), "ranking": {"by": "dice"}})
    assert not problems
    assert tables is not None
    return {name: value.model_dump(exclude_unset=True) for name, value in tables.values.items()}


def test_every_value_inherits_what_its_kind_has_and_it_does_not_say_itself() -> None:
    files = {"file": "{case}.h5", "reference": "{case}_label.h5"}
    assert values(SHORT.partition("[ranking]")[0]) == {
        "long": {"kind": "labels", **files, "dataset": "long_mask", "labels": {"plaque": 1, "vessel": 2}},
        "trans": {"kind": "labels", **files, "dataset": "trans_mask", "labels": {"plaque": 1}},
        "risk": {"kind": "class", **files, "dataset": "cls", "classes": {"low": 0, "high": 1}},
        "age": {
            "kind": "number",
            "table": "ages.csv",
            "reference_table": "ages.csv",
            "column": "age",
            "dataset": "age_mask",
            "range": (0, 100),
        },
    }


def test_the_mask_of_an_image_is_not_predicted() -> None:
    toml = """\
[values]
file = "{case}_{value}.mha"
reference = "{case}_{value}.mha"
[values.ct]
kind = "image"
within = "body"
[values.body]
kind = "labels"
labels = { body = 1 }
[[metrics]]
kind = "mae"
"""
    assert values(toml)["ct"]["file"] == "{case}_ct.mha"
    assert values(toml)["body"] == {"kind": "labels", "reference": "{case}_body.mha", "labels": {"body": 1}}


def test_a_value_may_have_the_name_of_a_key() -> None:
    toml = (
        '[values.labels]\nkind = "number"\nrange = [0, 1]\ntable = "p.csv"\ncolumn = "x"\n[[metrics]]\nkind = "mae"\n'
    )
    assert list(values(toml)) == ["labels"]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            ('file = "{case}.h5"', 'fiel = "{case}.h5"'),
            "line 7: 'values.fiel' is not a known key; did you mean 'file'?",
        ),
        (('file = "{case}.h5"', 'file = "x.h5"'), "line 7: 'values.file' is wrong: a file name holds {case} once"),
        (('"cls"', "3"), "line 18: 'values.risk.dataset' is wrong: it must be a string"),
    ],
)
def test_a_wrong_default_is_said_once_and_where_it_is(tmp_path: Path, change: tuple[str, str], sentence: str) -> None:
    found = errors(tmp_path, SHORT.replace(*change), references={"ages.csv": "case,age\na,1"})
    wanted = [error for error in found if "values." in error and "needs" not in error]
    assert len(wanted) == 1
    assert wanted[0].startswith(f"challenge.toml, {sentence}")


def test_a_metric_is_of_all_values_that_it_can_compare() -> None:
    tables = tomllib.loads(SHORT)
    challenge = challenge_from_settings("short", "declared", tables)
    names = [metric.name for metric in challenge.scoreboard.metrics]
    assert names == ["dice.long_plaque", "dice.long_vessel", "dice.trans_plaque", "dice.mean", "mae", "risk.correct"]


def test_two_metrics_of_one_name_must_say_which(tmp_path: Path) -> None:
    points = '[values.spots]\nkind = "points"\nunit = "mm"\nfile = "{case}.json"\nreference = "{case}.json"\n'
    found = errors(tmp_path, points + SHORT)
    assert any(
        "'metrics.1.of' is missing: f1 exists of class or probability or findings and of points" in error
        for error in found
    )


# The complete long form, as an organiser may write it.

LONG = """\
[cases]
input = "carotid-longitudinal-ultrasound"
[values.long]
kind = "labels"
title = "longitudinal"
socket = "carotid-longitudinal-segmentation"
file = ["{case}_pred.h5", "{case}.h5", "{case}_label.h5"]
reference = "{case}_label.h5"
dataset = "long_mask"
labels = [{ background = 0, vessel = 2, plaque = 1 }, { background = 0, vessel = 255, plaque = 128 }]
[values.trans]
kind = "labels"
title = "transverse"
socket = "carotid-transverse-segmentation"
file = ["{case}_pred.h5", "{case}.h5", "{case}_label.h5"]
reference = "{case}_label.h5"
dataset = "trans_mask"
labels = [{ background = 0, vessel = 2, plaque = 1 }, { background = 0, vessel = 255, plaque = 128 }]
[values.risk]
kind = "class"
socket = "plaque-vulnerability"
pointer = ["", "/class"]
file = ["{case}_pred.h5", "{case}.h5", "{case}_label.h5"]
reference = "{case}_label.h5"
dataset = "cls"
classes = { low_risk = 0, high_risk = 1 }
[[metrics]]
kind = "dice"
of = ["long", "trans"]
[[metrics]]
kind = "nsd"
title = "NSD"
of = ["long", "trans"]
tolerance_px = 3.0
[[metrics]]
kind = "f1"
of = "risk"
"""


def test_the_long_form_of_carotid_is_the_same_challenge() -> None:
    short = tomllib.loads((ROOT / "ground-truth" / "carotid" / "challenge.toml").read_text(encoding="utf-8"))
    tables = {name: table for name, table in short.items() if isinstance(table, dict | list)}

    def facts(challenge: AnyChallenge) -> Any:
        board = challenge.scoreboard
        return challenge.settings.values, dict(board.names.figures), board.leaderboard, challenge.ranking

    built = [challenge_from_settings("carotid", "declared", each) for each in (tables, tables | tomllib.loads(LONG))]
    assert facts(built[0]) == facts(built[1])


def test_the_short_form_is_scored(tmp_path: Path) -> None:
    toml = SHORT.replace('by = "dice"', 'by = "mae"')
    image = [[1, 2], [0, 1]]
    case = {"long_mask": image, "trans_mask": [[1, 0], [0, 1]], "cls": 1}
    found = score(
        tmp_path,
        toml,
        {"a_label.h5": case, "ages.csv": "case,age\na,40"},
        {"a.h5": case, "ages.csv": "case,age\na,42"},
        head=HEAD,
    )
    assert found["aggregates"]["mae"]["mean"] == 2
    assert found["aggregates"]["dice"]["mean"] == found["aggregates"]["f1"]["high"] == 1
