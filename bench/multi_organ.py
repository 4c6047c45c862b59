"""A large multi-organ challenge, made up: metrics.json of 40 teams with two metrics of 13 organs, to look at its page.

    python bench/multi_organ.py FOLDER [--teams 40] [--cases 100]
    podium rank FOLDER --output ranking

The challenge is gallery/flare22, ranked by the mean Dice. Some teams lose a few cases, some organs are in few cases.
"""

import argparse
import sys
import tomllib
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from podium.challenges import challenge_from_settings, published_settings
from podium.platform.jobs import Runtime
from podium.platform.metrics_file import SCHEMA_NAME, CaseResult, Counts, MetricsFile, write_metrics

REPOSITORY = Path(__file__).resolve().parents[1]
_COMMON = ("kind", "title", "version", "per_case", "submission")
_SYLLABLES = ("ra", "di", "net", "seg", "vol", "lab", "ora", "mi", "tek", "sca", "no", "vi")


def write_teams(folder: Path, *, teams: int, cases: int, seed: int) -> None:
    tables: dict[str, Any] = tomllib.loads((REPOSITORY / "gallery/flare22/challenge.toml").read_text("utf-8"))
    labels = list(tables["values"]["organs"]["labels"])
    settings = {key: value for key, value in tables.items() if key not in _COMMON}
    settings["leaderboard"] = {"titles": {"dice.mean": "DSC", "nsd.mean": "NSD"}}
    settings["ranking"] = {"by": "dice.mean"}
    challenge = challenge_from_settings("abdomen", "declared", settings)
    random = np.random.default_rng(seed)
    ease = np.linspace(2.6, 0.4, len(labels))  # of the organs, on a logistic scale
    difficulty = random.normal(0, 0.5, (cases, len(labels)))
    for number in range(teams):
        skill = -0.04 * number
        logits = skill + ease + difficulty + random.normal(0, 0.4, (cases, len(labels)))
        lost = set(random.choice(cases, size=(0, 0, 0, 1, 3)[number % 5], replace=False).tolist())
        results = []
        for case in range(cases):
            figures: dict[str, Any] = {}
            for name, shift in (("dice", 0.0), ("nsd", 0.3)):
                values = 1 / (1 + np.exp(-(logits[case] + shift)))
                values = np.zeros(len(labels)) if case in lost else values
                figures[name] = dict(zip(labels, map(float, values), strict=True)) | {"mean": float(values.mean())}
            failed = {"status": "failed", "error": f"'case_{case:03}.nii.gz' has another size than the image."}
            status = failed if case in lost else {"status": "scored"}
            results.append(CaseResult(case=f"case_{case:03}", metrics=figures, **status))
        metrics = MetricsFile(
            schema=SCHEMA_NAME,
            challenge="abdomen",
            kind="declared",
            title="Abdominal organs (made up)",
            version="1.0",
            settings=published_settings(challenge),
            aggregates=challenge.aggregate(results, Runtime(total_seconds=None, jobs={})),
            counts=Counts.of(results),
            results=results,
        )
        team = folder / f"{_SYLLABLES[number % 12]}{_SYLLABLES[(5 * number + 1) % 12]}-{number:02}"
        team.mkdir(parents=True, exist_ok=True)
        write_metrics(metrics, team)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--teams", type=int, default=40, metavar="N", help="[%(default)s]")
    parser.add_argument("--cases", type=int, default=100, metavar="N", help="[%(default)s]")
    parser.add_argument("--seed", type=int, default=2026, metavar="N", help="[%(default)s]")
    options = parser.parse_args()
    write_teams(options.folder, teams=options.teams, cases=options.cases, seed=options.seed)


if __name__ == "__main__":
    main()
