"""A report as files: the page, and beside it every figure as SVG and PDF."""

import math
import re
import unicodedata
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

from podium.errors import UsageError
from podium.tools.report.page import LIGHT, Exhibit, plot_stylesheet, write_page

# Words in a PDF: the three standard fonts every reader has, their character codes, and how wide a text is.
#
# Letters that these fonts do not have are written without their accent, or as a question mark; the SVG has them.

# Widths of Helvetica in thousandths of the font's size, from Adobe's metrics of the standard fonts: codes 32 to 126.
_WIDTHS = (
    *(278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278),
    *(556, 556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556),
    *(1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778),
    *(667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556),
    *(333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556),
    *(556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584),
)
_OTHERS = 556
_SYMBOLS = {"τ": (0x74, 439), "≤": (0xA3, 549), "−": (0x2D, 549), "∞": (0xA5, 713)}
_BOLDER = 1.06  # Helvetica-Bold is about so much wider


@dataclass(frozen=True, kw_only=True)
class Run:
    """Characters of one font: codes of WinAnsi, or of the font Symbol."""

    is_symbol: bool
    codes: bytes
    width: float  # in thousandths of the size


def runs(words: str, *, bold: bool) -> list[Run]:
    """The words cut where the font changes."""
    found: list[Run] = []
    for character in words:
        for is_symbol, code, width in _glyphs(character):
            wide = width * (_BOLDER if bold and not is_symbol else 1.0)
            if found and found[-1].is_symbol == is_symbol:
                last = found.pop()
                found.append(Run(is_symbol=is_symbol, codes=last.codes + bytes([code]), width=last.width + wide))
            else:
                found.append(Run(is_symbol=is_symbol, codes=bytes([code]), width=wide))
    return found


def _glyphs(character: str) -> list[tuple[bool, int, float]]:
    if character in _SYMBOLS:
        return [(True, *_SYMBOLS[character])]
    try:
        code = character.encode("cp1252")[0]
    except UnicodeEncodeError:
        base = [each for each in unicodedata.normalize("NFKD", character) if each.isascii()]
        return [glyph for each in base or ["?"] for glyph in _glyphs(each)]
    return [(False, code, _width(character))]


def _width(character: str) -> float:
    base = unicodedata.normalize("NFKD", character)[0]
    return _WIDTHS[ord(base) - 32] if 32 <= ord(base) <= 126 else _OTHERS


def literal(codes: bytes) -> str:
    """A PDF string."""
    return f"<{codes.hex()}>"


# The classes of the plots as plain values, for files without the page's stylesheet around them: light colours only.

_RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")
_VARIABLE = re.compile(r"var\(--([a-z0-9-]+)\)")


@cache
def light_stylesheet() -> str:
    """The plots' rules with the colours of light paper put in."""
    return _VARIABLE.sub(lambda match: LIGHT[match[1]], plot_stylesheet())


@cache
def _rules() -> Mapping[str, Mapping[str, str]]:
    """By the last word of a selector, `text` or a class; later rules win, as in a browser."""
    found: dict[str, dict[str, str]] = {}
    for selectors, body in _RULE.findall(light_stylesheet()):
        values = dict(part.split(":", 1) for part in body.strip().split(";") if part)
        for selector in selectors.split(","):
            found.setdefault(selector.strip().split()[-1].removeprefix("."), {}).update(values)
    return found


def style_of(tag: str, classes: Iterable[str]) -> dict[str, str]:
    """Everything the stylesheet says of an element, in the order of the stylesheet."""
    wanted = {tag, *classes}
    style: dict[str, str] = {}
    for name, values in _rules().items():
        if name in wanted:
            style.update(values)
    return style


# A plot as a PDF of one page, without any package: it draws what our own SVG writer writes, and nothing else.

_PATH = re.compile(r"([MLhvzZ])([^MLhvzZ]*)")
_ROTATE = re.compile(r"rotate\((\S+) (\S+) (\S+)\)")
_CURVE = 0.5523  # control points of a quarter circle
_FONTS = {"regular": "Helvetica", "bold": "Helvetica-Bold", "symbol": "Symbol"}
_PX_TO_PT = 0.75
_FONT_PX = 14.0


def pdf_file(plot: str) -> bytes:
    """The same bytes for the same plot: there is no date in it."""
    root = ElementTree.fromstring(plot)  # noqa: S314  (our own writer's)
    width, height = (float(root.attrib[side]) for side in ("width", "height"))
    drawing = _Drawing()
    scale = f"{_PX_TO_PT} 0 0 {-_PX_TO_PT} 0 {height * _PX_TO_PT:.2f} cm"  # the page's y runs upwards
    drawing.commands.append(scale)
    for child in root:
        drawing.draw(child)
    return _document(drawing, width * _PX_TO_PT, height * _PX_TO_PT)


class _Drawing:
    """The commands of a page, and the opacities they use."""

    def __init__(self) -> None:
        self.commands: list[str] = []
        self.opacities: dict[tuple[str, str], str] = {}

    def draw(self, element: ElementTree.Element) -> None:
        tag = element.tag
        if tag == "g":
            for child in element:
                self.draw(child)
        elif tag == "text":
            self._text(element)
        elif tag in ("path", "rect", "circle"):
            outline = {"path": _path, "rect": _rectangle, "circle": _circle}[tag](element.attrib)
            self._paint(outline, _style(element))

    def _paint(self, outline: Sequence[str], style: Mapping[str, str]) -> None:
        fill, stroke = style.get("fill", "#000000"), style.get("stroke", "none")
        operator = {(True, True): "B", (True, False): "f", (False, True): "S"}.get((fill != "none", stroke != "none"))
        if operator is None:
            return
        self.commands.append("q")
        self._opacity(style.get("fill-opacity", "1"), style.get("stroke-opacity", "1"))
        if fill != "none":
            self.commands.append(f"{_colour(fill)} rg")
        if stroke != "none":
            self.commands.append(f"{_colour(stroke)} RG {float(style.get('stroke-width', '1')):g} w")
            self.commands.append("1 J" if style.get("stroke-linecap") == "round" else "0 J")
            self.commands.append("1 j" if style.get("stroke-linejoin") == "round" else "0 j")
            if "stroke-dasharray" in style:
                self.commands.append(f"[{style['stroke-dasharray']}] 0 d")
        self.commands += [*outline, operator, "Q"]

    def _opacity(self, fill: str, stroke: str) -> None:
        if (fill, stroke) != ("1", "1"):
            name = self.opacities.setdefault((fill, stroke), f"G{len(self.opacities)}")
            self.commands.append(f"/{name} gs")

    def _text(self, element: ElementTree.Element) -> None:
        """SVG's `dy` of 0.35 em puts the middle of the words at y; the anchor needs their width."""
        style = _style(element)
        size = float(style.get("font-size", f"{_FONT_PX}px").removesuffix("px"))
        bold = int(style.get("font-weight", "400")) >= 600
        found = runs(element.text or "", bold=bold)
        total = sum(run.width for run in found) * size / 1000
        shift = {"middle": -total / 2, "end": -total}.get(element.get("text-anchor", ""), 0.0)
        turned = _ROTATE.match(element.get("transform", ""))
        angle = math.radians(float(turned[1].replace("−", "-"))) if turned else 0.0
        cos, sin = math.cos(angle), math.sin(angle)
        drop = 0.35 * size
        x = float(element.attrib["x"]) + shift * cos - drop * sin
        y = float(element.attrib["y"]) + shift * sin + drop * cos
        self.commands.append(f"BT {_colour(style.get('fill', '#000000'))} rg")
        self.commands.append(f"{cos:.4f} {sin:.4f} {sin:.4f} {-cos:.4f} {x:.2f} {y:.2f} Tm")
        for run in found:
            font = "symbol" if run.is_symbol else "bold" if bold else "regular"
            self.commands.append(f"/{font} {size:g} Tf {literal(run.codes)} Tj")
        self.commands.append("ET")


def _style(element: ElementTree.Element) -> dict[str, str]:
    own: dict[str, str] = {
        name: element.attrib[name] for name in ("fill", "stroke", "fill-opacity") if name in element.attrib
    }
    return {**own, **style_of(element.tag, element.get("class", "").split())}


def _colour(colour: str) -> str:
    return " ".join(f"{int(colour[start : start + 2], 16) / 255:.3f}" for start in (1, 3, 5))


def _path(attributes: Mapping[str, str]) -> list[str]:
    """Moves, lines, horizontal and vertical steps: a step of no length is a dot, by its round ends."""
    commands, x, y = [], 0.0, 0.0
    for letter, text in _PATH.findall(attributes["d"]):
        numbers = [float(number) for number in text.replace(",", " ").split()]
        if letter in "ML":
            x, y = numbers
            commands.append(f"{x:g} {y:g} {'m' if letter == 'M' else 'l'}")
        elif letter in "hv":
            x, y = (x + numbers[0], y) if letter == "h" else (x, y + numbers[0])
            commands.append(f"{x:g} {y:g} l")
        else:
            commands.append("h")
    return commands


def _rectangle(attributes: Mapping[str, str]) -> list[str]:
    x, y, width, height = (float(attributes[name]) for name in ("x", "y", "width", "height"))
    radius = min(float(attributes.get("rx", "0")), width / 2, height / 2)
    if not radius:
        return [f"{x:g} {y:g} {width:g} {height:g} re"]
    right, bottom, k = x + width, y + height, radius * (1 - _CURVE)
    return [
        f"{x + radius:g} {y:g} m {right - radius:g} {y:g} l",
        f"{right - k:g} {y:g} {right:g} {y + k:g} {right:g} {y + radius:g} c {right:g} {bottom - radius:g} l",
        f"{right:g} {bottom - k:g} {right - k:g} {bottom:g} {right - radius:g} {bottom:g} c",
        f"{x + radius:g} {bottom:g} l",
        f"{x + k:g} {bottom:g} {x:g} {bottom - k:g} {x:g} {bottom - radius:g} c {x:g} {y + radius:g} l",
        f"{x:g} {y + k:g} {x + k:g} {y:g} {x + radius:g} {y:g} c h",
    ]


def _circle(attributes: Mapping[str, str]) -> list[str]:
    x, y, radius = (float(attributes[name]) for name in ("cx", "cy", "r"))
    box = {"x": x - radius, "y": y - radius, "width": 2 * radius, "height": 2 * radius, "rx": radius}
    return _rectangle({name: str(value) for name, value in box.items()})


def _document(drawing: _Drawing, width: float, height: float) -> bytes:
    content = zlib.compress("\n".join(drawing.commands).encode("ascii"), 9)
    fonts = " ".join(
        f"/{name} << /Type /Font /Subtype /Type1 /BaseFont /{font}"
        f"{'' if name == 'symbol' else ' /Encoding /WinAnsiEncoding'} >>"
        for name, font in _FONTS.items()
    )
    states = " ".join(
        f"/{name} << /ca {float(fill):g} /CA {float(stroke):g} >>" for (fill, stroke), name in drawing.opacities.items()
    )
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {width:.2f} {height:.2f}] /Contents 4 0 R "
        f"/Resources << /Font << {fonts} >> /ExtGState << {states} >> >> >>".encode(),
        b"<< /Length %d /Filter /FlateDecode >>\nstream\n" % len(content) + content + b"\nendstream",
    ]
    body = b"%PDF-1.4\n"
    places = []
    for number, each in enumerate(objects, start=1):
        places.append(len(body))
        body += b"%d 0 obj\n" % number + each + b"\nendobj\n"
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    size = len(objects) + 1
    ending = b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (size, len(body))
    return body + b"xref\n0 %d\n0000000000 65535 f \n" % size + table + ending


# A plot of the page as a separate file: with its stylesheet, on white paper.

_FONT = "font-family:Helvetica,Arial,sans-serif;font-size:14px"


def svg_file(plot: str) -> str:
    """`plot` is an `<svg ...>` element as the plots make it; the result opens in any browser or drawing program."""
    opening, _, rest = plot.partition(">")
    style = f"<style>svg{{{_FONT}}}\n{light_stylesheet()}</style>"
    paper = f'<rect width="100%" height="100%" fill="{LIGHT["paper"]}"/>'
    head = '<?xml version="1.0" encoding="UTF-8"?>\n'
    return f'{head}{opening} xmlns="http://www.w3.org/2000/svg">{style}{paper}{rest}\n'


# A report's page and its figures, written to a folder.

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
