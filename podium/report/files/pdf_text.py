"""Words in a PDF: the three standard fonts every reader has, their character codes, and how wide a text is.

Letters that these fonts do not have are written without their accent, or as a question mark; the SVG has them.
"""

import unicodedata
from dataclasses import dataclass

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
