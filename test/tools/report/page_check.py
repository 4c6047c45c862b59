"""Reads a report as a browser would and holds it to what every report promises."""

import json
import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from evaluating import evaluate_command

from podium.cli.main import main

VOID = {"meta", "br", "hr", "img", "link", "input"}
FOREIGN = ("http:", "https:", "//", "ftp:", "javascript:", "file:")


def write_page(submission: Path, ground_truth: Path, folder: Path, *more: object) -> Path:
    """The page of a submission with pictures of its worst cases, made as organisers make it."""
    assert evaluate_command(submission, ground_truth, folder) == 0
    given = (folder / "metrics.json", "--submission", submission, "--ground-truth", ground_truth, *more)
    assert main(["report", *map(str, given)]) == 0
    return folder / "report.html"


def source(content: str) -> str:
    """What a policy calls a script or a style."""
    return f"'sha256-{b64encode(sha256(content.encode()).digest()).decode()}'"


class Page(HTMLParser):
    """Fails on a tag that is not closed or closed out of order, on a script that the policy does not name, and
    on whatever would load something."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.ids: list[str] = []
        self.anchors: list[str] = []
        self.tags: list[str] = []
        self.tables: list[list[list[str]]] = []
        self.words: list[str] = []
        self.scripts: list[str] = []
        self.specifications: list[dict[str, Any]] = []
        self.policy = ""
        self.style = ""
        self.text = text
        self.feed(text)
        self.close()
        assert not self.open, f"left open: {self.open}"
        assert len(self.ids) == len(set(self.ids)), "an id stands twice"
        assert set(self.anchors) <= set(self.ids), "a link leads nowhere"
        for svg in self.svgs():
            ElementTree.fromstring(svg)
        expected = " ".join(map(source, self.scripts))
        assert f"script-src {expected};" in self.policy
        assert f"style-src {source(self.style)};" in self.policy
        assert "default-src 'none'" in self.policy
        assert "unsafe" not in self.policy

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("td", "th", "tr"):  # which HTML closes by itself
            self.close_cell(row=tag == "tr")
        self.tags.append(tag)
        if tag == "script":
            assert dict(attrs).get("type") in (None, "module", "application/json")
            self.kind = dict(attrs).get("type")
        if tag == "meta" and ("http-equiv", "Content-Security-Policy") in attrs:
            self.policy = dict(attrs)["content"] or ""
        assert tag not in ("iframe", "object", "embed", "link", "base", "form"), tag
        for name, given in attrs:
            value = given or ""
            assert not name.startswith("on"), f"{tag} {name}"
            if name == "id":
                self.ids.append(value)
            if name in ("href", "src", "xlink:href", "action", "data"):
                beside = r"figures/[a-z0-9-]+\.(svg|pdf)|ranking\.(csv|tex)|consensus\.csv|[\w%.-]+/report\.html"
                is_beside = re.fullmatch(beside, value)
                is_inside = value.startswith(("#", "data:image/png;base64,"))
                assert is_inside or (tag == "a" and is_beside), f"{tag} {name}={value[:60]}"
                if value.startswith("#"):
                    self.anchors.append(value[1:])
            if name == "style":
                raise AssertionError("inline style: the theme would not reach it")
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in ("tbody", "tr"):
            self.close_cell(row=tag == "tbody")
        assert self.open, f"</{tag}> closes nothing"
        last = self.open.pop()
        assert last == tag, f"</{tag}> closes <{last}>"

    def close_cell(self, *, row: bool) -> None:
        if self.open and self.open[-1] in ("td", "th"):
            self.open.pop()
        if row and self.open and self.open[-1] == "tr":
            self.open.pop()

    def handle_data(self, data: str) -> None:
        if "style" in self.open:
            assert not re.search(r"url\((?!data:font/woff2;base64,)|@import", data), "the stylesheet loads something"
            self.style += data
            return
        if "script" in self.open:
            if self.kind == "application/json":
                self.specifications.append(json.loads(data))
            else:
                self.scripts.append(data)
            return
        self.words.append(data)
        if self.open and "table" in self.open and ("td" in self.open or "th" in self.open):
            self.tables[-1][-1][-1] += data

    def svgs(self) -> list[str]:
        without = re.sub(r"<script.*?</script>", "", self.text, flags=re.DOTALL)
        return re.findall(r"<svg.*?</svg>", without, flags=re.DOTALL)

    @property
    def plots(self) -> list[ElementTree.Element]:
        """The pictures that are not decoration, parsed as XML."""
        parsed = [ElementTree.fromstring(svg) for svg in self.svgs()]
        return [svg for svg in parsed if svg.get("aria-hidden") != "true"]

    @property
    def figures(self) -> list[str]:
        """The titles of the charts."""
        return re.findall(r"<figcaption><h3>(.*?)</h3>", self.text)

    def table(self, *head: str) -> list[list[str]]:
        """The rows below the first table whose header begins with `head`."""
        for table in self.tables:
            if table and tuple(cell.strip() for cell in table[0][: len(head)]) == head:
                return [[cell.strip() for cell in row] for row in table[1:]]
        raise AssertionError(f"no table with the header {head}")

    @property
    def all_words(self) -> str:
        return " ".join(" ".join(self.words).split())
