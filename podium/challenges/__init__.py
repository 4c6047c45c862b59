"""Challenges: one package per kind, and what all kinds share."""

from podium.challenges.base import (
    KINDS,
    challenge_for_format,
    challenge_from_settings,
    load_challenge,
    phase_columns,
    problems_of_file,
    published_settings,
)

__all__ = [
    "KINDS",
    "challenge_for_format",
    "challenge_from_settings",
    "load_challenge",
    "phase_columns",
    "problems_of_file",
    "published_settings",
]
