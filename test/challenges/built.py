"""Challenges under given settings, without a ground truth on disk."""

import tomllib
from typing import Any

from places import ROOT

from podium.challenges import challenge_from_settings
from podium.challenges.challenge import AnyChallenge


def carotid_tables(*, rule: str = "fixed", tolerance_px: float = 3.0) -> dict[str, Any]:
    """The tables of the bundled carotid, with other values."""
    tables = tomllib.loads((ROOT / "ground-truth" / "carotid" / "challenge.toml").read_text(encoding="utf-8"))
    tables["time"]["rule"] = rule
    tables["metrics"][1]["tolerance_px"] = tolerance_px
    return {name: table for name, table in tables.items() if isinstance(table, dict | list)}


def carotid(tables: dict[str, Any] | None = None) -> AnyChallenge:
    return challenge_from_settings("carotid", "declared", tables or carotid_tables())


def lesions(settings: dict[str, Any] | None = None, **cases: Any) -> AnyChallenge:
    return _built("lesions", {"empty_reference": "undefined", **(settings or {})}, cases)


def freehand(settings: Any = None, **cases: Any) -> AnyChallenge:
    return _built("freehand", settings or {"edition": "2024"}, cases)


def reports(settings: Any = None, **cases: Any) -> AnyChallenge:
    return _built("reports", settings, cases)


def _built(kind: str, settings: Any, cases: dict[str, Any]) -> AnyChallenge:
    return challenge_from_settings(kind, kind, {kind: settings or {}, "cases": cases})
