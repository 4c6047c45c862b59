"""Reads a report as a browser would and holds it to what every report promises."""

import re
from html.parser import HTMLParser
from xml.etree import ElementTree

VOID = {"meta", "br", "hr", "img", "link", "input"}
FOREIGN = ("http:", "https:", "//", "ftp:", "javascript:", "file:")


class Page(HTMLParser):
    """Fails on a tag that is not closed or closed out of order, on a script, and on whatever would load something."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.ids: list[str] = []
        self.anchors: list[str] = []
        self.tags: list[str] = []
        self.tables: list[list[list[str]]] = []
        self.words: list[str] = []
        self.text = text
        self.feed(text)
        self.close()
        assert not self.open, f"left open: {self.open}"
        assert len(self.ids) == len(set(self.ids)), "an id stands twice"
        assert set(self.anchors) <= set(self.ids), "a link leads nowhere"
        for svg in self.svgs():
            ElementTree.fromstring(svg)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        assert tag not in ("script", "iframe", "object", "embed", "link", "base", "form"), tag
        for name, given in attrs:
            value = given or ""
            assert not name.startswith("on"), f"{tag} {name}"
            if name == "id":
                self.ids.append(value)
            if name in ("href", "src", "xlink:href", "action", "data"):
                is_beside = re.fullmatch(r"figures/[a-z0-9-]+\.(svg|pdf)|ranking\.(csv|tex)", value)
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
        assert self.open, f"</{tag}> closes nothing"
        last = self.open.pop()
        assert last == tag, f"</{tag}> closes <{last}>"

    def handle_data(self, data: str) -> None:
        if "style" in self.open:
            assert not re.search(r"url\(|@import", data), "the stylesheet loads something"
            return
        self.words.append(data)
        if self.open and "table" in self.open and ("td" in self.open or "th" in self.open):
            self.tables[-1][-1][-1] += data

    def svgs(self) -> list[str]:
        return re.findall(r"<svg.*?</svg>", self.text, flags=re.DOTALL)

    @property
    def plots(self) -> list[ElementTree.Element]:
        """The pictures that are not decoration, parsed as XML."""
        parsed = [ElementTree.fromstring(svg) for svg in self.svgs()]
        return [svg for svg in parsed if svg.get("aria-hidden") != "true"]

    def table(self, *head: str) -> list[list[str]]:
        """The rows below the first table whose header begins with `head`."""
        for table in self.tables:
            if table and tuple(cell.strip() for cell in table[0][: len(head)]) == head:
                return [[cell.strip() for cell in row] for row in table[1:]]
        raise AssertionError(f"no table with the header {head}")

    @property
    def all_words(self) -> str:
        return " ".join(" ".join(self.words).split())
