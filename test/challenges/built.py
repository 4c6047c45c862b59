"""Challenges under given settings, without a ground truth on disk."""

import tomllib
from typing import Any

from places import ROOT

from podium.challenges import challenge_from_settings
from podium.challenges.base import AnyChallenge
from podium.challenges.freehand import FREEHAND
from podium.challenges.lesions import LESIONS
from podium.challenges.reports import REPORTS
from podium.challenges.settings import CasesSettings


def carotid_tables(*, rule: str = "fixed", tolerance_px: float = 3.0) -> dict[str, Any]:
    """The tables of the bundled carotid, with other values."""
    tables = tomllib.loads((ROOT / "ground-truth" / "carotid" / "challenge.toml").read_text(encoding="utf-8"))
    tables["time"]["rule"] = rule
    tables["metrics"][1]["tolerance_px"] = tolerance_px
    return {name: table for name, table in tables.items() if isinstance(table, dict | list)}


def carotid(tables: dict[str, Any] | None = None) -> AnyChallenge:
    return challenge_from_settings("carotid", "declared", tables or carotid_tables())


def lesions(settings: Any = None, **cases: Any) -> AnyChallenge:
    return LESIONS.build("lesions", CasesSettings(**cases), settings or LESIONS.settings_model())


def freehand(settings: Any = None, **cases: Any) -> AnyChallenge:
    return FREEHAND.build("freehand", CasesSettings(**cases), settings or FREEHAND.settings_model(edition="2024"))


def reports(settings: Any = None, **cases: Any) -> AnyChallenge:
    return REPORTS.build("reports", CasesSettings(**cases), settings or REPORTS.settings_model())
