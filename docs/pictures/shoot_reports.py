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
        shot = screenshot(ranking, workspace, width=1280, height=1660, dark=False)
        save(shot, "report-ranking.png")
        save(table_and_chart(ranking, workspace), "report-ranking-table.png")  # for the README
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


def table_and_chart(page: Path, workspace: Path) -> Image.Image:
    """The ranking's table and the first chart below it, without what stands between them."""
    from playwright.sync_api import sync_playwright

    target = workspace / "table.png"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": 1280, "height": 800})
        tab.goto(page.resolve().as_uri())
        section = tab.locator("section", has=tab.locator("h2", has_text="Ranking")).first
        section.locator("> :not(h2, :has(table), figure)").evaluate_all("all => all.forEach(one => one.remove())")
        section.evaluate("node => { node.style.padding = '0 24px'; }")
        tab.wait_for_timeout(2000)
        section.scroll_into_view_if_needed()
        section.screenshot(path=target)
        browser.close()
    picture = Image.open(target).convert("RGB")
    return picture.crop((0, 0, picture.width, min(picture.height, round(picture.width * 0.6))))


def side_by_side(tall: Image.Image) -> Image.Image:
    """The screens of a phone one after the other."""
    sheet = Image.new("RGB", (PHONE_SCREENS * (PHONE_WIDTH + GAP) - GAP, PHONE_HEIGHT), "#808890")
    for number in range(PHONE_SCREENS):
        top = number * PHONE_HEIGHT
        sheet.paste(tall.crop((0, top, PHONE_WIDTH, top + PHONE_HEIGHT)), (number * (PHONE_WIDTH + GAP), 0))
    return sheet


def save(picture: Image.Image, name: str) -> None:
    """As a palette image: flat colours need no more."""
    picture.quantize(128, dither=Image.Dither.NONE).save(PICTURES / name, optimize=True)


if __name__ == "__main__":
    main()
