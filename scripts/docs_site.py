"""Pages that are made from the repository, and what MkDocs needs to show docs/ as a site.

    python scripts/docs_site.py    # writes docs/gallery.md and docs/metrics.md again
    mkdocs build --strict          # the site, in site/; this file is its hook

The pages are written for GitHub: they link to files of the repository. The site has a copy of every such file.
"""

import inspect
import json
import posixpath
import re
import textwrap
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, get_type_hints

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

import podium
from podium.challenges.declared.catalogue import metric_kinds
from podium.challenges.declared.catalogue.base import (
    CaseValueMetric,
    CohortValueMetric,
    MetricKind,
    MetricSettings,
    joined_path,
)
from podium.challenges.declared.catalogue.regions import RegionMetric, RegionSettings
from podium.cli.main import COMMANDS, load_command, overview
from podium.errors import PodiumError, listed
from podium.metrics.declaration import Figure
from podium.metrics.engines import engine_named

ROOT = Path(__file__).resolve().parent.parent
GALLERY_PAGE, METRICS_PAGE = ROOT / "docs/gallery.md", ROOT / "docs/metrics.md"
_OUTSIDE = re.compile(r"(?<=\]\()\.\./([^)#\s]+)")  # the target of a link to a file that is not in docs/
_FENCED = re.compile(r"^( *)```.*?^\1```$", re.MULTILINE | re.DOTALL)

_GALLERY_TOP = """# Gallery: published challenges as challenge.toml

Each folder of [gallery/](../gallery/) is a published challenge as a [declared challenge](declared.md), with small
synthetic references and teams, and what these must score by an independent reading of the rules. The file of an entry
begins with the sources of its rules and with what it leaves out. To start from one:

```bash
podium new my-challenge --like panther
```

This page is generated from the folders: `python scripts/docs_site.py`.
"""


def gallery_page() -> str:
    """docs/gallery.md."""
    entries = {path.parent.name: path.read_text(encoding="utf-8") for path in ROOT.glob("gallery/*/challenge.toml")}
    rows = [_gallery_row(name, entries[name]) for name in sorted(entries)]
    table = ["| entry | task | values | metrics | ranked by |", "| --- | --- | --- | --- | --- |", *rows]
    return "\n".join([_GALLERY_TOP, *table, ""])


def _gallery_row(name: str, text: str) -> str:
    content = tomllib.loads(text)
    task = _heading(text)[0].rstrip(".")
    given = content["values"]
    tables = [value for value in given.values() if isinstance(value, dict)]
    values = _code(dict.fromkeys(value.get("kind") or given["kind"] for value in tables))
    metrics = _code(dict.fromkeys(metric["kind"] for metric in content["metrics"]))
    link = f"[`{name}`](../gallery/{name}/challenge.toml)"
    return f"| {link} | {task} | {values} | {metrics} | {_ranked_by(content['ranking'])} |"


def _ranked_by(ranking: Mapping[str, Any]) -> str:
    by = [ranking["by"]] if isinstance(ranking["by"], str) else ranking["by"]
    figures = _code(by) if len(by) <= 3 else f"{len(by)} figures, such as {_code(by[:1])}"
    return f"{figures}, by `{ranking['method']}`" if "method" in ranking else figures


def _heading(text: str) -> list[str]:
    """The lines of the comment at the top of a file."""
    lines: list[str] = []
    for line in text.splitlines():
        if not line.startswith("#"):
            break
        lines.append(line.removeprefix("#").removeprefix(" "))
    return lines


def _code(names: Mapping[str, object] | Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


_METRICS_TOP = """\
# The metrics of `[[metrics]]`

P is the prediction, G the reference. This page is generated from the catalogue in the code.
[declared.md](declared.md#metrics) has the keys that every metric takes. Metrics "per case" publish `.mean`, `.std`,
`.median` and `.n` over the cases. Metrics of "all cases" publish one figure, which is computed again for every
bootstrap replicate. Metrics of labels have a figure for every region, and `<name>.mean` and `<name>.region_mean` over
the regions.

## Empty masks, such as the HD95 of an empty mask

"Empty" is the figure where both sides, only P, or only G are empty; "formula" is what the definition gives there. The
keys `both_empty`, `prediction_empty` and `reference_empty` change it: a number, `"worst"` or `"exclude"`.

## Missing predictions

A case without a usable prediction gets the worst value that any prediction of that reference could have, unless
`failed` says otherwise: the worst of the figures for empty regions that apply to this reference and the worst of the
formula, which is 0 for shares, the diagonal of the image for distances, and for numbers and images the end of `range`
that is further from the reference. A region that the reference lacks and that `reference_empty = "exclude"` leaves out
for every team is left out of a missing case too. Where nothing but the number of voxels bounds a figure (component
errors, volume differences, counts of false positives), or nothing at all (numbers and images without a `range`),
`failed` is required.

So leaving out a prediction improves no figure. There are exceptions, where leaving out a wrong prediction can improve
it: `f1`, `mcc` and `kappa` of classes, since a missing answer is wrong for its true class but a false positive nowhere,
and of probabilities of more than two classes, since a missing one counts as the class that is furthest from the true
one in their order, and another wrong one may cost more;
`fp`, `f1`, `precision`, `froc` and `ap` of detections, `bleu_4` and pooled counts, since a missing case counts as an
empty answer, which teams may also send, as with `failed = "empty"`; and `pearson`, `spearman`, `icc`, `ccc` and `bias`,
since one case has no worst value in them. A missing probability of two classes counts as the wrong class in all
figures of classes.

A `threshold` of probabilities, IoU, Dice or overlap is a number, which it accepts itself, or a comparison: `"> 0.3"` is
more than 0.3, `">= 0.3"` is the same as `0.3`. `settings` in `metrics.json` give the least number that is accepted:
0.30000000000000004 for `"> 0.3"`.

"By" is the package that computes a metric under `engine = "monai"`, the default ([engines](organisers.md#engines)).
Bootstrap replicates, surface elements (`boundary = "surface"`), pooled percentiles (`combine = "pooled"`), pooled
counts (`over = "pooled"`) and weighted kappa with missing answers are computed by Podium's own code under both engines.
`metrics.json` says under `computed_by` what computed each metric, with versions.
"""
_WHEN_ABSENT = {
    "tolerance_mm": "required, unless `tolerance_px` is given, or `tolerances_mm` for every region",
    "tolerance_px": "required, unless there are tolerances in mm",
    "min_predicted_voxels": "that of `min_voxels`",
    "miss_mm": "no HD95 and ASSD of lesions",
    "threshold": "`0.5` for the probability of one class; of several classes the most probable counts",
    "positive": "that of the value",
    "match": "`distance` for points, `iou` for boxes and detection maps",
    "radius_mm": "required for points in mm",
    "radius_px": 'required for points with `unit = "index"`',
    "threshold of candidates": "required for boxes; `0.1` for detection maps",
    "probability_threshold": "all candidates count",
    "levels": "1/8, 1/4, 1/2, 1, 2, 4 and 8",
    "interpolate": "`linear`; required with `levels`",
    "data_range": "required, unless the value has a `range`",
}
"""What holds where a key is not given that has no default of its own."""


_NOTES = {
    ("image",): """\
PSNR, SSIM and MS-SSIM compare images prepared as in SynthRAD, if the value has a `range`: clipped to it, set to its
lowest value outside of `within`, and shifted to begin at 0 where the range begins below 0. The shift changes SSIM: with
`range = [-1024, 3000]`, an error of 200 HU in tissue around 0 HU gives 0.989, and 0.745 in scikit-image without it.

MS-SSIM has the windows of SSIM. MONAI's default is a Gaussian window; with `kernel_type="uniform"` and `kernel_size=7`
it differs by its covariances, which are of the population and not of the sample, and by its single precision.
"""
}
"""What a group of metrics has in common beside its keys, by what it compares."""


def metrics_page() -> str:
    """docs/metrics.md: no metric can be in the catalogue without being documented."""
    parts = [_METRICS_TOP]
    for compares, kinds in groupby(metric_kinds(), key=lambda kind: kind.compares):
        parts.append(f"## {listed(compares)}\n")
        parts.append("| kind | definition | by | figure | of | better, range | empty | further keys |")
        parts.append("| --- | --- | --- | --- | --- | --- | --- | --- |")
        group = list(kinds)
        parts += [row for kind in group for row in _metric_rows(kind)]
        parts.append("")
        parts += _keys_of(group)
        parts += [_NOTES[compares]] if compares in _NOTES else []
    return "\n".join(parts).rstrip() + "\n"


def _metric_rows(kind: MetricKind) -> Iterator[str]:
    keys = ", ".join(f"`{name}`" for name in _own_keys(kind.settings_model))
    definition = kind.definition.replace("|", r"\|")
    package = kind.computed_by(kind.settings_model.model_construct(kind=kind.name), engine_named("monai"))
    for number, (name, figure) in enumerate(_figures_of(kind)):
        cells = [
            f"`{kind.name}`" if number == 0 else "",
            definition if number == 0 else "",
            package if number == 0 else "",
            f"`{joined_path(kind.name, '<region>' * isinstance(kind, RegionMetric), name)}`",
            "all cases" if isinstance(kind, CohortValueMetric) or getattr(kind, "only_pooled", False) else "per case",
            f"{figure.direction}, {figure.lowest:g} to {figure.highest:g}{' ' + figure.unit if figure.unit else ''}",
            _where_empty(figure),
            keys if number == 0 else "",
        ]
        yield "| " + " | ".join(cells) + " |"


def _figures_of(kind: MetricKind) -> Sequence[tuple[str, Figure]]:
    if isinstance(kind, RegionMetric):
        return list(kind.figures.items())
    assert isinstance(kind, CaseValueMetric | CohortValueMetric)
    return [("", kind.figure)]


def _where_empty(figure: Any) -> str:
    if not hasattr(figure, "both_empty"):
        return ""
    given = (figure.both_empty, figure.prediction_empty, figure.reference_empty)
    return " / ".join(f"{each:g}" if isinstance(each, float) else each for each in given)


def _keys_of(kinds: Sequence[MetricKind]) -> Iterator[str]:
    """What the keys mean, as the docstrings of the settings say, each once per group."""
    models = dict.fromkeys(kind.settings_model for kind in kinds if _own_keys(kind.settings_model))
    explained: set[type] = {MetricSettings, RegionSettings}
    for model in models:
        named = ", ".join(f"`{kind.name}`" for kind in kinds if kind.settings_model is model)
        defaults = "; ".join(f"`{name}` {_default_of(name, model)}" for name in _own_keys(model))
        yield textwrap.fill(f"Defaults of {named}: {defaults}.", 120, break_on_hyphens=False) + "\n"
        for each in reversed(model.__mro__):
            if issubclass(each, MetricSettings) and each not in explained:
                explained.add(each)
                words = inspect.cleandoc(each.__doc__ or "")
                yield f"{words}\n" if words.startswith("`") else f"```text\n{words}\n```\n"


def _own_keys(model: type[MetricSettings]) -> Sequence[str]:
    """What a metric's table may hold beside what every metric, or every metric of regions, has."""
    common = RegionSettings if issubclass(model, RegionSettings) else MetricSettings
    return [name for name in model.model_fields if name not in common.model_fields]


def _default_of(name: str, model: type[MetricSettings]) -> str:
    field = model.model_fields[name]
    if field.is_required():
        return "required"
    if field.default is None:
        return _WHEN_ABSENT["threshold of candidates" if name == "threshold" and "match" in _own_keys(model) else name]
    return f"`{json.dumps(field.default)}`"


def commands_page() -> str:
    """The help of every command, as the terminal shows it."""
    parsers = [overview(), *(load_command(name)[1] for name in COMMANDS)]
    shown = [f"## {each.prog}\n\n```text\n{each.format_help().strip()}\n```\n" for each in parsers]
    return "\n".join(["# Commands\n\nWhat `--help` shows.\n", *shown])


def api_page() -> str:
    """What `from podium import ...` offers, and what its functions return and raise."""
    functions = [getattr(podium, name) for name in podium.__all__ if not name.startswith("_")]
    returned = [get_type_hints(each)["return"] for each in functions if inspect.isfunction(each)]
    shown = dict.fromkeys([*functions, *(each for each in returned if inspect.isclass(each)), PodiumError])
    named = {getattr(podium, name): f"podium.{name}" for name in podium.__all__ if not name.startswith("_")}
    parts = [f"::: {named.get(each, f'{each.__module__}.{each.__qualname__}')}\n" for each in shown]
    return "\n".join(["# Python\n\nWhat `from podium import ...` offers, and what it returns and raises.\n", *parts])


# The hook of MkDocs.


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that only the site has, and a copy of every file that a page links to."""
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").replace("](docs/", "](")
    for name, content in {"changelog.md": changelog, "commands.md": commands_page(), "api.md": api_page()}.items():
        files.append(File.generated(config, name, content=content))
    pages = [file.content_string for file in files.documentation_pages()]
    for name in sorted({name for page in pages for name in _linked_outside(page)}):
        if (ROOT / name).is_file():
            files.append(File.generated(config, _copy_of(name), abs_src_path=str(ROOT / name)))
    return files


def on_page_markdown(markdown: str, *, page: Page, **_: object) -> str:
    """Lead links out of docs/ to the copies and the gallery's page. Any other stays, and is an error of the build. The
    wide tables of metrics.md get the room of the menus beside them."""
    if page.file.src_uri == METRICS_PAGE.name:
        page.meta["hide"] = ["navigation", "toc"]

    def target(link: "re.Match[str]") -> str:
        name = link[1].rstrip("/")
        if name in {"CHANGELOG.md", "README.md", "gallery"}:
            return {"CHANGELOG.md": "changelog.md", "README.md": "index.md", "gallery": "gallery.md"}[name]
        return _copy_of(name) if (ROOT / name).is_file() else link[0]

    return _OUTSIDE.sub(target, markdown)


def _linked_outside(page: str) -> Iterator[str]:
    yield from _OUTSIDE.findall(_FENCED.sub("", page))


def _copy_of(name: str) -> str:
    """Browsers show a .txt file; what else they do with a .py or .toml depends on the server."""
    return posixpath.join("source", name + ("" if name.endswith((".json", ".png", ".html")) else ".txt"))


if __name__ == "__main__":
    GALLERY_PAGE.write_text(gallery_page(), encoding="utf-8")
    METRICS_PAGE.write_text(metrics_page(), encoding="utf-8")
