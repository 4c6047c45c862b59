"""Takes the pictures of reports of the samples in docs/pictures/, in a real browser (Chromium).

    ./demo.sh && python docs/pictures/shoot_reports.py

report-ranking.png is the ranking of the carotid samples on a desktop, report-ranking-table.png a part of it for the
README, report-phone.png a participant's report on a phone in the dark.
"""

import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image

PICTURES = Path(__file__).parent
REPOSITORY = PICTURES.parents[1]
DEMO = REPOSITORY / "demo-output"
PHONE_WIDTH, PHONE_HEIGHT, PHONE_SCREENS, GAP = 390, 1500, 3, 14
BROWSER = (
    "chromium",
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)


def main() -> None:
    with TemporaryDirectory() as folder:
        workspace = Path(folder)
        ranking = DEMO / "carotid/ranking/report.html"
        save(all_tabs(ranking, workspace, height=1660), "report-ranking.png")
        save(all_tabs(ranking, workspace, height=1000), "report-ranking-table.png")  # for the README
        page = workspace / "lesions.html"
        report = [
            sys.executable,
            "-m",
            "podium",
            "report",
            str(DEMO / "lesions/glow/metrics.json"),
            "--output",
            str(page),
        ]
        subprocess.run(report, check=True, cwd=REPOSITORY)  # noqa: S603  (our own command)
        tall = screenshot(page, workspace, width=PHONE_WIDTH, height=PHONE_SCREENS * PHONE_HEIGHT, dark=True)
        save(side_by_side(tall), "report-phone.png")


def screenshot(page: Path, workspace: Path, *, width: int, height: int, dark: bool) -> Image.Image:
    target = workspace / f"{page.stem}.png"
    theme = f"--blink-settings=preferredColorScheme={0 if dark else 1}"
    options = [f"--user-data-dir={workspace / 'profile'}", f"--screenshot={target}", f"--window-size={width},{height}"]
    command = [*BROWSER, theme, *options, page.resolve().as_uri()]
    subprocess.run(command, check=True, capture_output=True)  # noqa: S603  (our own page)
    return Image.open(target).convert("RGB")


def all_tabs(page: Path, workspace: Path, *, height: int) -> Image.Image:
    """The beginning of a page as it is without JavaScript: one tab below the other."""
    from playwright.sync_api import sync_playwright

    target = workspace / "tabs.png"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": 1280, "height": height}, java_script_enabled=False)
        tab.goto(page.resolve().as_uri())
        tab.screenshot(path=target)
        browser.close()
    return Image.open(target).convert("RGB")


def side_by_side(tall: Image.Image) -> Image.Image:
    """The screens of a phone one after the other."""
    sheet = Image.new("RGB", (PHONE_SCREENS * (PHONE_WIDTH + GAP) - GAP, PHONE_HEIGHT), "#808890")
    for number in range(PHONE_SCREENS):
        top = number * PHONE_HEIGHT
        sheet.paste(tall.crop((0, top, PHONE_WIDTH, top + PHONE_HEIGHT)), (number * (PHONE_WIDTH + GAP), 0))
    return sheet


def save(picture: Image.Image, name: str) -> None:
    """As a palette image: flat colours need no more."""
    picture.quantize(255, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE).save(
        PICTURES / name, optimize=True
    )


if __name__ == "__main__":
    main()
