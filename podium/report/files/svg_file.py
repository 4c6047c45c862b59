"""A plot of the page as a file of its own: with its stylesheet, on white paper."""

from podium.report.files.stylesheet import light_stylesheet
from podium.report.palette import LIGHT

_FONT = "font-family:Helvetica,Arial,sans-serif;font-size:14px"


def svg_file(plot: str) -> str:
    """`plot` is an `<svg ...>` element as the plots make it; the result opens in any browser or drawing program."""
    opening, _, rest = plot.partition(">")
    style = f"<style>svg{{{_FONT}}}\n{light_stylesheet()}</style>"
    paper = f'<rect width="100%" height="100%" fill="{LIGHT["paper"]}"/>'
    head = '<?xml version="1.0" encoding="UTF-8"?>\n'
    return f'{head}{opening} xmlns="http://www.w3.org/2000/svg">{style}{paper}{rest}\n'
