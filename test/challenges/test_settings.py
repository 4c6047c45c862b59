"""challenge.toml: mistakes are named by key and line."""

from pathlib import Path
from typing import Any

import pytest
from challenges.built import lesions
from challenges.carotid_files import CONFIGURATION

from podium.challenges import challenge_from_settings, load_challenge, published_settings
from podium.challenges.challenge import AnyChallenge
from podium.challenges.ground_truth import ChallengeFolder
from podium.challenges.loading import load_tables
from podium.challenges.settings import ChallengeFile, Common, line_of
from podium.errors import ConfigurationError

VALID = """\
kind = "declared"
title = "CSV"
version = "1.0"
per_case = "full"

[values.mask]
kind = "labels"
file = "{case}.mha"
reference = "{case}.mha"
labels = { vessel = 1, plaque = 2 }

[values.risk]
kind = "class"
file = "{case}.json"
reference = "{case}.json"
classes = { low_risk = 0, high_risk = 1 }

[[metrics]]
kind = "dice"

[[metrics]]
kind = "nsd"
tolerance_px = 3

[[metrics]]
kind = "f1"

[time]
rule = "fixed"
baseline_seconds = 90.0

[figures]
overlap = "(dice.plaque + nsd.plaque) / 2"
score = "0.4 * f1.macro + 0.4 * overlap + 0.002 * time_score"

[ranking]
by = "score"
"""


def parse(text: str, folder: Path) -> AnyChallenge:
    path = folder / "challenge.toml"
    path.write_text(text, encoding="utf-8")
    file = ChallengeFile(path)
    return load_challenge(ChallengeFolder(name="csv", path=folder, file=file, common=file.common()))


def test_valid_file(tmp_path: Path) -> None:
    settings = parse(VALID, tmp_path).settings
    assert settings.metrics[1].settings.tolerance_px == 3
    assert settings.time.baseline_seconds == 90
    assert settings.values["risk"].classes == {"low_risk": 0, "high_risk": 1}


def test_settings_are_frozen(tmp_path: Path) -> None:
    settings = parse(VALID, tmp_path).settings
    with pytest.raises(ValueError, match="frozen"):
        settings.time.baseline_seconds = 5
    with pytest.raises(ValueError, match="frozen"):
        settings.values["mask"].ignore = 255


TOLERANCE = "tolerance_px = 3"
KEY = "line 23: 'metrics.1.tolerance_px' is"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (TOLERANCE, "tolerance = 3", "'metrics.1.tolerance' is not a known key; did you mean 'tolerance_px'?"),
        (TOLERANCE, "", "line 21: 'metrics.1' is wrong: needs either tolerance_mm or tolerance_px."),
        (TOLERANCE, "tolerance_px = -1", f"{KEY} wrong: input should be greater"),
        (TOLERANCE, "tolerance_px = nan", f"{KEY} wrong: input should be a finite"),
        (TOLERANCE, 'tolerance_px = "3"', f"{KEY} wrong: input should be a valid"),
        (TOLERANCE, "tolerance_px = true", f"{KEY} wrong: input should be a valid"),
        (TOLERANCE, f"tolerance_px = {10**4000}", f"{KEY} an integer beyond 64 bits."),
        (TOLERANCE, f"tolerance_px = {'9' * 5000}", "challenge.toml has an integer of more than 4,300 digits."),
        (TOLERANCE, f"tolerance_px = {'[' * 5000}{']' * 5000}", "challenge.toml is nested too deeply."),
        (TOLERANCE, f"tolerance_px = {'{a=' * 5000}1{'}' * 5000}", "challenge.toml is nested too deeply."),
        (TOLERANCE, f"{'.'.join('a' * 5000)} = 1", "challenge.toml is nested too deeply."),
        (
            'kind = "f1"',
            'kind = "f1"\nof = "mask"',
            "line 27: 'metrics.2.of' names 'mask', which is of the kind labels",
        ),
        ('kind = "f1"', 'kind = "dice"', "line 25: 'metrics.2.name' is 'dice' a second time"),
        (
            'rule = "fixed"',
            'rule = "fast"',
            "line 29: 'time.rule' is wrong: input should be 'fixed', 'cohort' or 'none",
        ),
        ("baseline_seconds = 90.0", "", "line 28: 'time' is wrong: baseline_seconds is missing."),
        ("baseline_seconds = 90.0", "baseline_seconds = 0", "line 30: 'time.baseline_seconds' is wrong"),
        ("low_risk = 0", '"low.risk" = 0', "line 16: 'values.risk.classes.low.risk' is wrong: a name has"),
        ("low_risk = 0", "low_risk = 1", "line 12: 'values.risk' is wrong: two classes have the same value."),
        (
            "high_risk = 1",
            f"high_risk = {-(2**70)}",
            "line 16: 'values.risk.classes.high_risk' is an integer beyond 64",
        ),
        ("vessel = 1", "vessel = 2", "line 6: 'values.mask' is wrong: two regions have the same value."),
        ("nsd.plaque) / 2", "nds.plaque) / 2", "line 33: 'figures.overlap' names 'nds.plaque', which does not exist; "),
        ("0.4 * f1.macro", "1e400 * f1.macro", "line 34: 'figures.score' is wrong: the formula has the number '1e400'"),
        ('[ranking]\nby = "score"\n', "", "challenge.toml: 'ranking' is missing: say what teams are ranked by"),
        ("[ranking]", "[rank]", "line 36: 'rank' is not a known key; did you mean 'ranking'?"),
        ('version = "1.0"\n', "", "challenge.toml: 'version' is missing."),
        ('per_case = "full"', 'per_case = "some"', "line 4: 'per_case' is wrong: input should be 'full', 'anonymous'"),
        ('title = "CSV"', 'title = "CSV"\ndecimals = -1', "line 3: 'decimals' is wrong: input should be greater"),
        ('title = "CSV"', 'titel = "CSV"', "line 2: 'titel' is not a known key; did you mean 'title'?"),
        ("[time]", "[time", "challenge.toml is not valid TOML"),
    ],
)
def test_mistakes_name_key_and_line(old: str, new: str, message: str, tmp_path: Path) -> None:
    assert VALID.count(old) == 1
    with pytest.raises(ConfigurationError) as caught:
        parse(VALID.replace(old, new), tmp_path)
    assert message in str(caught.value)
    assert str(tmp_path) not in str(caught.value)


def test_line_of_quoted_and_dotted_keys() -> None:
    text = 'a."b c".d = 1\n[x]\n# y = 0\ny = { z = 2 }\n'
    assert line_of(text, ("a", "b c", "d")) == 1
    assert line_of(text, ("x", "y", "z")) == 4
    assert line_of(text, ("x", "missing")) == 2
    assert line_of(text, ("nowhere",)) is None
    assert line_of("[a.b]\nc = 1\n", ("a",)) == 1


def test_line_of_a_table_of_an_array() -> None:
    text = '[[metrics]]\nkind = "dice"\n\n[[metrics]]\nkind = "nsd"\n[metrics.more]\nx = 1\n[[metrics]]\n'
    assert line_of(text, ("metrics", 0, "kind")) == 2
    assert line_of(text, ("metrics", 1, "kind")) == 5
    assert line_of(text, ("metrics", 1, "tolerance_px")) == 4
    assert line_of(text, ("metrics", 2)) == 8


@pytest.mark.parametrize(
    ("given", "decimals"),
    [
        ({"per_case": "full"}, None),
        ({"per_case": "full", "decimals": 2}, 2),
        ({"per_case": "anonymous"}, 4),
        ({"per_case": "none", "decimals": 0}, 0),
    ],
)
def test_aggregates_are_exact_only_where_single_cases_are_shown(given: dict[str, Any], decimals: int | None) -> None:
    common = Common.model_validate({"kind": "declared", "title": "T", "version": "1", **given})
    assert common.published_decimals == decimals


def test_the_bundled_settings_are_valid(tmp_path: Path) -> None:
    assert parse(CONFIGURATION, tmp_path).ranking.criteria[0].path == "score"


# engine: a key above all tables, for the kinds that have figures which an engine computes.


@pytest.mark.parametrize("kind", ["freehand", "reports"])
def test_a_kind_without_engines_refuses_the_key(kind: str) -> None:
    problems = [str(each) for each in load_tables("x", kind, {"engine": "monai"}).problems]
    assert "'engine' is not a key of this kind: none of its figures is computed by an engine" in problems


@pytest.mark.parametrize("kind", ["declared", "lesions"])
def test_an_unknown_engine_is_refused_at_its_own_key(kind: str) -> None:
    problems = [each for each in load_tables("x", kind, {"engine": "torch"}).problems if each.key == ("engine",)]
    assert [each.words for each in problems] == ["is wrong: input should be 'monai' or 'native'"]


def test_an_engine_inside_the_table_of_lesions_is_refused() -> None:
    (problem,) = load_tables("x", "lesions", {"lesions": {"empty_reference": "score", "engine": "native"}}).problems
    assert str(problem) == "'lesions.engine' belongs at the top of challenge.toml, above all tables"


def test_the_engine_is_published_outside_of_tables_and_read_back() -> None:
    settings = published_settings(
        challenge_from_settings("x", "lesions", {"engine": "native", "lesions": {"empty_reference": "score"}})
    )
    assert settings["engine"] == "native"
    assert "engine" not in settings["lesions"]
    assert published_settings(challenge_from_settings("x", "lesions", settings)) == settings
    assert published_settings(lesions())["engine"] == "monai"


def test_published_settings_have_the_defaults_filled_in(tmp_path: Path) -> None:
    """So a file that spells a default out and one that leaves it out are scored by the same settings."""
    spelled = VALID.replace('kind = "dice"', 'kind = "dice"\nboth_empty = 1.0\nprediction_empty = 0\nfailed = "worst"')
    spelled = spelled.replace("baseline_seconds", 'fastest = "2/3"\nslowest = "2"\nbaseline_seconds')
    spelled = spelled.replace("[values.mask]", "[cases]\nignore_case = false\n[values.mask]")
    settings = published_settings(parse(spelled, tmp_path))
    assert settings == published_settings(parse(VALID, tmp_path))
    dice, nsd, _ = settings["metrics"]
    assert (dice["failed"], dice["both_empty"], dice["reference_empty"], dice["over"]) == ("worst", 1.0, 0.0, "cases")
    assert (nsd["boundary"], nsd["tolerance_px"]) == ("voxels", 3.0)
    assert settings["time"]["slowest"] == "2"
    assert settings["ranking"]["tie_break"] == []
    assert published_settings(challenge_from_settings("csv", "declared", settings)) == settings


@pytest.mark.parametrize(
    ("kind", "given", "ignored"), [("reports", {}, True), ("freehand", {"freehand": {"edition": "2024"}}, False)]
)
def test_the_published_way_to_compare_case_names_is_filled_in(
    kind: str, given: dict[str, object], ignored: bool
) -> None:
    assert published_settings(challenge_from_settings("x", kind, given))["cases"]["ignore_case"] is ignored
