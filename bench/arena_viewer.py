"""Times the arena's slice viewer: a 400 x 400 x 400 volume in Chromium, by wheel, by slider, and while its level moves.

    .venv/bin/python bench/arena_viewer.py [SIZE]

A noisy volume, prepared and served as any other, on a page 1440 x 900 drawn without a graphics card.
"""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import SimpleITK as sitk
from playwright.sync_api import Page, sync_playwright

from podium.arena.images.case_images import prepare
from podium.arena.raters.invitations import invite
from podium.arena.settings import ArenaSettings, write_settings
from podium.arena.store.contents import PICTURES, Contents, Picture, write_contents
from podium.arena.store.database import Store

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-3d-apis",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
)
KEY = "0" * 32

# Frames, drawings, tasks that block the page for more than 50 ms, and the time from an input to its drawing.
WATCH = """() => {
  const seen = window.seen = { frames: [], draws: 0, waits: [], tasks: [] };
  const figure = document.querySelector("figure[data-viewer]");
  let last = null, asked = null;
  const frame = (now) => { if (last !== null) seen.frames.push(now - last); last = now; requestAnimationFrame(frame); };
  requestAnimationFrame(frame);
  const ask = () => { asked ??= performance.now(); };
  for (const name of ["wheel", "input"]) figure.addEventListener(name, ask, { capture: true, passive: true });
  new MutationObserver(() => {
    seen.draws += 1;
    if (asked !== null) seen.waits.push(performance.now() - asked);
    asked = null;
  }).observe(figure, { attributeFilter: ["data-drawn"] });
  new PerformanceObserver((list) => seen.tasks.push(...list.getEntries().map((one) => one.duration)))
    .observe({ type: "longtask" });
}"""


def main() -> None:
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    with TemporaryDirectory(dir=Path.cwd()) as name:
        folder = Path(name)
        token = make_arena(folder, size)
        command = [sys.executable, "-m", "podium", "arena", "serve", str(folder), "--port", "0"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server, sync_playwright() as playwright:
            assert server.stdout is not None
            found = re.search(r"http://127\.0\.0\.1:\d+", server.stdout.readline())
            assert found
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            start = time.perf_counter()
            page.goto(f"{found[0]}/enter/{token}")
            page.get_by_role("link", name="Start").click()
            page.locator("[data-drawn]").wait_for()
            print(
                f"from the link to the first slice: {time.perf_counter() - start:.2f} s; load {os.getloadavg()[0]:.1f}"
            )
            scroll(page, size)
            browser.close()
            server.terminate()


def make_arena(folder: Path, size: int) -> str:
    noise = np.random.default_rng(0).normal(0, 30, (size, size, size)).astype(np.float32)
    rows, columns = np.mgrid[-1 : 1 : size * 1j, -1 : 1 : size * 1j]
    volume = sitk.GetImageFromArray((noise + 1000 * (np.hypot(rows, columns) < 0.8)).astype(np.int16))
    sitk.WriteImage(volume, str(folder / "volume.mha"))
    start = time.perf_counter()
    prepared = prepare(folder / "volume.mha", folder / PICTURES / KEY)
    stored = sum(path.stat().st_size for path in (folder / PICTURES / KEY).glob("*.gz"))
    print(f"{size} x {size} x {size}: prepared in {time.perf_counter() - start:.1f} s, {stored / 1e6:.0f} MB to fetch")
    settings = ArenaSettings(matchups_per_rater=1)
    write_settings(folder, settings)
    picture = Picture(key=KEY, **asdict(prepared))
    reports = {"one": {"case": "First."}, "other": {"case": "Second."}}
    write_contents(folder, Contents(methods=tuple(reports), cases={"case": [picture]}, reports=reports))
    with closing(Store(folder)) as store:
        return invite(store, settings, "rater").token


def scroll(page: Page, size: int) -> None:
    page.locator("[data-stage]").hover()
    report(page, "wheel, slices still arriving", lambda: wheel(page, size // 2 - 1, 100))
    report(page, "wheel back, slices there", lambda: wheel(page, size // 2 - 1, -100))
    slider = page.get_by_role("slider", name="Slice")
    report(page, "slider, jumps of 37 slices", lambda: [slider.fill(str(1 + 37 * k % size)) for k in range(100)])
    page.get_by_text("Brightness and contrast").click()
    level = page.locator("[data-slider=level]")
    low, high = (float(level.get_attribute(name) or 0) for name in ("min", "max"))
    values = np.linspace(low, high, 100)
    report(page, "level", lambda: [level.fill(str(value)) for value in values])


def wheel(page: Page, steps: int, delta: int) -> None:
    for _ in range(steps):
        page.mouse.wheel(0, delta)


def report(page: Page, name: str, work: Callable[[], object]) -> None:
    page.evaluate(WATCH)
    start = time.perf_counter()
    work()
    page.wait_for_timeout(500)
    seconds = time.perf_counter() - start - 0.5
    seen = page.evaluate("window.seen")
    shown = {key: quantiles(seen[key]) for key in ("frames", "waits", "tasks")}
    print(f"{name}: {seconds:.1f} s, {seen['draws']} drawings")
    for key, words in {"frames": "frame", "waits": "input to drawing", "tasks": "tasks over 50 ms"}.items():
        print(f"    {words:18s} {len(seen[key]):5d} times; median, 95 %, longest (ms): {shown[key]}")


def quantiles(values: list[float]) -> str:
    return ", ".join(f"{value:.1f}" for value in np.quantile(values, [0.5, 0.95, 1])) if values else "-"


if __name__ == "__main__":
    main()
