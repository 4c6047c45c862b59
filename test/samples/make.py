"""Writes the sample data of all challenges, or of those named: `python test/samples/make.py [carotid ...]`."""

import sys
from collections.abc import Sequence
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "test"))

from samples import arena_cases, carotid, freehand, lesions, reports  # noqa: E402  (importable by the line above)
from samples.expected import CHALLENGES, write_expected  # noqa: E402

WRITERS = {
    "arena-cases": arena_cases.write_samples,
    "carotid": carotid.write_samples,
    "freehand": freehand.write_samples,
    "lesions": lesions.write_samples,
    "reports": reports.write_samples,
}


def main(names: Sequence[str]) -> int:
    unknown = sorted(set(names) - set(WRITERS))
    if unknown:
        print(f"No samples are known for {', '.join(unknown)}; choose from: {', '.join(WRITERS)}.", file=sys.stderr)
        return 2
    for name in names or WRITERS:
        WRITERS[name](REPOSITORY)
        if name in CHALLENGES:
            write_expected(REPOSITORY, name)
        print(f"{name}: written.")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
