"""Challenges: one package per kind, and what all kinds share."""

from podium.challenges.loading import (
    challenge_class,
    challenge_for_format,
    challenge_from_settings,
    load_challenge,
    load_file,
    phase_columns,
    published_settings,
)

__all__ = [
    "challenge_class",
    "challenge_for_format",
    "challenge_from_settings",
    "load_challenge",
    "load_file",
    "phase_columns",
    "published_settings",
]
