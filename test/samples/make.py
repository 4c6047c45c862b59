"""Writes the sample data of all challenges, or of those named: `python test/samples/make.py [carotid ...]`."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "test"))

from samples import (  # noqa: E402  (the line above makes them importable)
    arena_cases,
    carotid,
    expect_carotid,
    expect_freehand,
    expect_lesions,
    expect_reports,
    freehand,
    lesions,
    reports,
)

WRITERS: dict[str, tuple[Callable[[Path], None], ...]] = {
    "arena-cases": (arena_cases.write_samples,),
    "carotid": (carotid.write_samples, expect_carotid.write_expected),
    "freehand": (freehand.write_samples, expect_freehand.write_expected),
    "lesions": (lesions.write_samples, expect_lesions.write_expected),
    "reports": (reports.write_samples, expect_reports.write_expected),
}


def main(names: Sequence[str]) -> int:
    unknown = sorted(set(names) - set(WRITERS))
    if unknown:
        print(f"No samples are known for {', '.join(unknown)}; choose from: {', '.join(WRITERS)}.", file=sys.stderr)
        return 2
    for name in names or WRITERS:
        for write in WRITERS[name]:
            write(REPOSITORY)
        print(f"{name}: written.")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
