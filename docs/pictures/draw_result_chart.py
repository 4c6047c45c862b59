"""Draws result-chart.png: what the platform draws on the page of a result of the carotid samples."""

import io
import json
import shutil
import sys
import tempfile
from pathlib import Path

import vl_convert
from PIL import Image

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from podium.cli import main  # noqa: E402

CHART = "result-chart.json"


def draw() -> None:
    with tempfile.TemporaryDirectory() as folder:
        challenge = Path(folder) / "carotid"
        shutil.copytree(ROOT / "ground-truth/carotid", challenge)
        with (challenge / "challenge.toml").open("a", encoding="utf-8") as file:
            file.write(f'\n[outputs]\n"{CHART}" = "chart"\n')
        team = ROOT / "test/submissions/carotid/carina"
        assert main(["evaluate", "--input", str(team), "--output", folder, "--ground-truth", str(challenge)]) == 0
        chart = json.loads((Path(folder) / CHART).read_text(encoding="utf-8"))
    picture = Image.open(io.BytesIO(vl_convert.vegalite_to_png({**chart, "background": "white"}, scale=1.5))).convert(
        "RGB"
    )
    picture.quantize(64, dither=Image.Dither.NONE).save(ROOT / "docs/pictures/result-chart.png", optimize=True)


if __name__ == "__main__":
    draw()
