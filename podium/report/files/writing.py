"""A report's page and its figures, written to a folder."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from podium.errors import UsageError
from podium.report.exhibit import Exhibit
from podium.report.files.pdf import pdf_file
from podium.report.files.svg_file import svg_file
from podium.report.page import write_page

REPORT_FILE = "report.html"
FIGURES_FOLDER = "figures"


@dataclass(frozen=True, kw_only=True)
class Report:
    """The page, and the exhibits whose figures are files beside it."""

    page: str
    exhibits: Sequence[Exhibit] = ()


@dataclass
class FigureNames:
    """Gives every exhibit the name of its files, each name once."""

    exhibits: list[Exhibit] = field(default_factory=list)

    def named(self, exhibit: Exhibit) -> Exhibit:
        stem = re.sub(r"[^a-z0-9]+", "-", exhibit.title.lower()).strip("-")[:60] or "figure"
        taken = {each.file for each in self.exhibits}
        name = stem if stem not in taken else f"{stem}-{len(taken) + 1}"
        self.exhibits.append(replace(exhibit, file=name))
        return self.exhibits[-1]


def write_report(report: Report, path: Path) -> None:
    """The page at `path`, the figures in a folder beside it."""
    write_page(report.page, path)
    folder = path.parent / FIGURES_FOLDER
    try:
        for exhibit in report.exhibits:
            folder.mkdir(exist_ok=True)
            (folder / f"{exhibit.file}.svg").write_text(svg_file(exhibit.svg), encoding="utf-8", newline="\n")
            (folder / f"{exhibit.file}.pdf").write_bytes(pdf_file(exhibit.svg))
    except OSError as error:
        raise UsageError(f"The figures cannot be written to {folder}: {error.strerror}.") from None
