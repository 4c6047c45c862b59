"""challenge.toml: mistakes are named by key and line."""

from pathlib import Path

import pytest

from podium.challenges.carotid.settings import CarotidSettings
from podium.challenges.settings import ChallengeFile, line_of
from podium.errors import ConfigurationError

VALID = """\
kind = "carotid"
title = "CSV"
version = "1.0"
per_case = "full"

[carotid]
tolerance_px = 3
classes = [
  { value = 0, name = "low_risk" },
  { value = 1, name = "high_risk" },
]

[carotid.weights]
classification = 0.4
segmentation = 0.4
time = 0.2

[carotid.time]
rule = "fixed"
baseline_seconds = 90.0
"""


def parse(text: str, folder: Path) -> CarotidSettings:
    path = folder / "challenge.toml"
    path.write_text(text, encoding="utf-8")
    file = ChallengeFile(path)
    file.common()
    return file.own(CarotidSettings)


def test_valid_file(tmp_path: Path) -> None:
    settings = parse(VALID, tmp_path)
    assert settings.tolerance_px == 3
    assert settings.time.baseline_seconds == 90
    assert settings.class_values == (0, 1)


def test_settings_are_frozen(tmp_path: Path) -> None:
    settings = parse(VALID, tmp_path)
    with pytest.raises(ValueError, match="frozen"):
        settings.tolerance_px = 5  # type: ignore[misc]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("tolerance_px = 3", "tolerance = 3", "challenge.toml, line 7: 'carotid.tolerance' is not a known key."),
        ("tolerance_px = 3", "tolerance_px = -1", "line 7: 'carotid.tolerance_px' is wrong: input should be greater"),
        ("tolerance_px = 3", "tolerance_px = nan", "line 7: 'carotid.tolerance_px' is wrong: input should be a finite"),
        ("tolerance_px = 3", 'tolerance_px = "3"', "line 7: 'carotid.tolerance_px' is wrong: input should be a valid"),
        ("tolerance_px = 3", "tolerance_px = true", "line 7: 'carotid.tolerance_px' is wrong: input should be a valid"),
        ("time = 0.2", "time = 0.3", "line 13: 'carotid.weights' is wrong: the weights must sum to 1, not 1.1."),
        ("time = 0.2", "speed = 0.2", "line 16: 'carotid.weights.speed' is not a known key."),
        ('rule = "fixed"', 'rule = "fast"', "line 19: 'carotid.time.rule' is wrong: input should be 'fixed' or 'coh"),
        ("baseline_seconds = 90.0", "", "line 18: 'carotid.time.baseline_seconds' is missing."),
        ("baseline_seconds = 90.0", "baseline_seconds = 0", "line 20: 'carotid.time.baseline_seconds' is wrong"),
        ('name = "low_risk"', 'name = "low.risk"', "line 8: 'carotid.classes.0.name' is wrong: string should match"),
        ('name = "low_risk"', 'name = "high_risk"', "line 6: 'carotid' is wrong: classes must have different values"),
        ('version = "1.0"\n', "", "challenge.toml: 'version' is missing."),
        ('per_case = "full"', 'per_case = "some"', "line 4: 'per_case' is wrong: input should be 'full', 'anonymous'"),
        ('title = "CSV"', 'titel = "CSV"', "'title' is missing."),
        ("[carotid.time]", "[carotid.time", "challenge.toml is not valid TOML"),
    ],
)
def test_mistakes_name_key_and_line(old: str, new: str, message: str, tmp_path: Path) -> None:
    assert old in VALID
    with pytest.raises(ConfigurationError) as caught:
        parse(VALID.replace(old, new), tmp_path)
    assert message in str(caught.value)
    assert str(tmp_path) not in str(caught.value)


def test_unknown_top_level_key(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"line 1: 'weights' is not a known key"):
        parse("weights = 3\n" + VALID, tmp_path)


def test_line_of_quoted_and_dotted_keys() -> None:
    text = 'a."b c".d = 1\n[x]\n# y = 0\ny = { z = 2 }\n'
    assert line_of(text, ("a", "b c", "d")) == 1
    assert line_of(text, ("x", "y", "z")) == 4
    assert line_of(text, ("x", "missing")) == 2
    assert line_of(text, ("nowhere",)) is None
    assert line_of("[a.b]\nc = 1\n", ("a",)) == 1
