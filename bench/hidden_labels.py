"""Measures how many hidden labels published figures tell, metric by metric, against the yardstick of accuracy.

    python bench/hidden_labels.py [--cases N ...] [--submissions N] [--labels N] [--seconds N] [--docs]

A participant makes random submissions to a phase with `per_case = "none"` and guesses from the figures
(test/challenges/label_attacks.py), also from those of two groups of half the cases. It starts nothing
after `--seconds` and says what it left out. The exit code is 1 if a figure tells more than the yardstick by 5 points
and two standard errors.
"""

import argparse
import re
import sys
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY / "test"))

from challenges.label_attacks import OF_CLASSES, OF_PROBABILITIES, challenge, share_right  # noqa: E402

from podium.platform.privacy import share_told  # noqa: E402

PAGE = REPOSITORY / "docs/security.md"
TABLE = re.compile(r"(?<=<!-- hidden_labels.py: begin -->\n).*?(?=<!-- hidden_labels.py: end -->)", re.DOTALL)
ALLOWED = 0.05


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, nargs="+", default=[120, 300], metavar="N", help="cases [120 300]")
    parser.add_argument("--submissions", type=int, default=20, metavar="N", help="of each participant [20]")
    parser.add_argument("--labels", type=int, default=600, metavar="N", help="guessed for each figure, at least [600]")
    parser.add_argument("--seconds", type=float, default=1800, metavar="N", help="at most, about [1800]")
    parser.add_argument("--docs", action="store_true", help="write the table into docs/security.md")
    options = parser.parse_args()
    ends = time.monotonic() + options.seconds
    columns = [(cases, group) for cases in options.cases for group in (None, cases // 2)]
    titles = [f"n = {cases}" + (", halves" if group else "") for cases, group in columns]
    lines = [["metric", *titles], ["---"] * (len(titles) + 1)]
    lines.append(["yardstick", *(f"{share_told(options.submissions, cases):.0%}" for cases, _ in columns)])
    wrong = []
    for kind in (*OF_CLASSES, *OF_PROBABILITIES):
        line = [f"`{kind}`"]
        for cases, group in columns:
            if time.monotonic() > ends:
                line.append("not played")
                continue
            sets = -(-options.labels // cases)
            found = share_right(
                challenge([kind], grouped=group is not None),
                cases=cases,
                submissions=options.submissions,
                seeds=range(sets),
                group=group,
                only=lambda path, kind=kind: kind in path or (kind == "accuracy" and "groups" not in path),
                sure=kind not in ("auroc", "average_precision"),
            )
            limit = share_told(options.submissions, cases) + ALLOWED + (sets * cases) ** -0.5
            wrong += [f"{kind}, {cases} cases, groups of {group}: {found:.0%}"] if found > limit else []
            line.append(f"{found:.0%}")
            print(kind, cases, group, line[-1], flush=True)
        lines.append(line)
    table = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    print(table, *wrong, sep="\n")
    if options.docs:
        PAGE.write_text(TABLE.sub(lambda _: table, PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    return int(bool(wrong))


if __name__ == "__main__":
    raise SystemExit(main())
