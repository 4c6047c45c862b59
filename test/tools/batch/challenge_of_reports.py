"""A challenge of short reports for many teams: scoring a case takes a millisecond, so that runs have many cases."""

from pathlib import Path

CONFIGURATION = 'kind = "reports"\ntitle = "Many"\nversion = "1"\nper_case = "full"\n'
_WORDS = (
    "tooth",
    "root",
    "bone",
    "loss",
    "crown",
    "sinus",
    "implant",
    "caries",
    "normal",
    "lesion",
    "left",
    "upper",
    "of",
)


def _report(team: int, case: int) -> str:
    """Some words in an order of its own; no two are equal."""
    words = [_WORDS[(case * 7 + team * 3 + place * (team + 1)) % len(_WORDS)] for place in range(12)]
    return " ".join([f"team{team}", *words])


def write_ground_truth(folder: Path, *, cases: int) -> Path:
    (folder / "references").mkdir(parents=True)
    (folder / "challenge.toml").write_text(CONFIGURATION)
    for case in range(cases):
        (folder / "references" / f"case_{case:03d}.txt").write_text(_report(0, case))
    return folder


def write_teams(folder: Path, *, teams: int, cases: int) -> Path:
    for team in range(teams):
        own = folder / f"team_{team:02d}"
        own.mkdir(parents=True)
        for case in range(cases):
            (own / f"case_{case:03d}.txt").write_text(_report(team + 1, case))
    return folder


def all_metrics(output: Path) -> dict[str, bytes]:
    """The bytes of every team's metrics.json."""
    return {path.parent.name: path.read_bytes() for path in sorted((output / "teams").glob("*/metrics.json"))}


def kept_scores(output: Path) -> int:
    return sum(1 for _ in (output / "kept").glob("*/*.json"))
