"""Pages that are made from the repository, and what MkDocs needs to show docs/ as a site.

    python scripts/docs_site.py    # writes docs/gallery.md again
    mkdocs build --strict          # the site, in site/; this file is its hook

The pages are written for GitHub: they link to files of the repository. The site has a copy of every such file.
"""

import argparse
import inspect
import posixpath
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_type_hints

import griffe
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

import podium
from podium.cli.main import make_parser
from podium.errors import PodiumError

ROOT = Path(__file__).resolve().parent.parent
GALLERY_PAGE = ROOT / "docs/gallery.md"
_OUTSIDE = re.compile(r"(?<=\]\()\.\./([^)#\s]+)")  # the target of a link to a file that is not in docs/
_COLUMNS = re.compile(r"^\w[\w., ]*  +\S")
_FENCED = re.compile(r"^( *)```.*?^\1```$", re.MULTILINE | re.DOTALL)

_GALLERY_TOP = """# Gallery: published challenges as challenge.toml

Each folder of [gallery/](../gallery/) is a published challenge as a [declared challenge](declared.md), with
the sources of its rules, small synthetic references and teams, and what these must score by an independent reading of
the rules. To start from one:

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
    notes = [_gallery_note(name, entries[name]) for name in sorted(entries)]
    return "\n".join([_GALLERY_TOP, *table, "", *notes])


def _gallery_row(name: str, text: str) -> str:
    content = tomllib.loads(text)
    task = _heading(text)[0].rstrip(".")
    values = _code(dict.fromkeys(value["kind"] for value in content["values"].values()))
    metrics = _code(dict.fromkeys(metric["kind"] for metric in content["metrics"]))
    return f"| [`{name}`](#{name}) | {task} | {values} | {metrics} | {_ranked_by(content['ranking'])} |"


def _ranked_by(ranking: Mapping[str, Any]) -> str:
    by = [ranking["by"]] if isinstance(ranking["by"], str) else ranking["by"]
    figures = _code(by) if len(by) <= 3 else f"{len(by)} figures, such as {_code(by[:1])}"
    return f"{figures}, by `{ranking['method']}`" if "method" in ranking else figures


def _gallery_note(name: str, text: str) -> str:
    """What the file says of its sources and of what it leaves out, as it stands there."""
    said = "\n".join(_heading(text)[1:]).strip("\n")
    file = f"[gallery/{name}/challenge.toml](../gallery/{name}/challenge.toml)"
    return f"## {name}\n\n{file}\n\n```text\n{said}\n```\n"


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


def commands_page() -> str:
    """The help of every command, as the terminal shows it."""
    parser, _ = make_parser()
    shown = [f"## {name}\n\n```text\n{each.format_help().strip()}\n```\n" for name, each in _commands("podium", parser)]
    return "\n".join(["# Commands\n\nWhat `--help` shows.\n", *shown])


def _commands(name: str, parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    yield name, parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for verb, each in action.choices.items():
                yield from _commands(f"{name} {verb}", each)


def api_page() -> str:
    """What `from podium import ...` offers, and what its functions return and raise."""
    functions = [getattr(podium, name) for name in podium.__all__ if not name.startswith("_")]
    returned = [get_type_hints(each)["return"] for each in functions if inspect.isfunction(each)]
    shown = dict.fromkeys([*functions, *(each for each in returned if inspect.isclass(each)), PodiumError])
    named = {getattr(podium, name): f"podium.{name}" for name in podium.__all__ if not name.startswith("_")}
    parts = [f"::: {named.get(each, f'{each.__module__}.{each.__qualname__}')}\n" for each in shown]
    return "\n".join(["# Python\n\nWhat `from podium import ...` offers, and what it returns and raises.\n", *parts])


class AlignedDocstrings(griffe.Extension):
    """Our docstrings have columns, such as `name  what it is`: Markdown would join their lines."""

    def on_instance(self, *, obj: griffe.Object, **_: object) -> None:
        if obj.docstring is not None:
            parts = re.split(r"\n{2,}", obj.docstring.value)
            obj.docstring.value = "\n\n".join(
                f"```text\n{each}\n```" if _COLUMNS.match(each) else each for each in parts
            )


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


def on_page_markdown(markdown: str, **_: object) -> str:
    """Lead links out of docs/ to the copies and the gallery's page. Any other stays, and is an error of the build."""

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
