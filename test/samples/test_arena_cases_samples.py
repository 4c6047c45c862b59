"""The committed case images are what the generators write, small, and there for every report."""

from pathlib import Path

import numpy as np
import SimpleITK
from places import ROOT

from samples import arena_cases
from samples.reports_cases import CASES

COMMITTED = ROOT / arena_cases.ARENA_CASES


def contents(folder: Path) -> dict[str, bytes]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def test_regenerating_gives_the_committed_bytes(tmp_path: Path) -> None:
    arena_cases.write_samples(tmp_path)
    committed, regenerated = contents(COMMITTED), contents(tmp_path / arena_cases.ARENA_CASES)
    assert sorted(committed) == sorted(regenerated)
    assert [name for name in committed if committed[name] != regenerated[name]] == []


def test_every_reported_case_has_its_image() -> None:
    scanned = {f"{case}/{name}" for case in arena_cases.SCANNED for name in ("front.png", "lower.ply", "upper.ply")}
    others = [case for case in CASES if case not in arena_cases.SCANNED]
    assert set(contents(COMMITTED)) == scanned | {f"{case}.{'png' if case[0] == 'B' else 'mha'}" for case in others}


def test_they_are_small_and_all_different() -> None:
    files = contents(COMMITTED).values()
    assert sum(map(len, files)) < 1_900_000
    assert len(set(files)) == len(files)


def test_volumes_reach_from_air_to_metal() -> None:
    """More greys than a screen has: they are worth a window."""
    image = SimpleITK.ReadImage(str(COMMITTED / "T001.mha"))
    assert image.GetSpacing() == (0.9, 0.9, 1.2)
    values = SimpleITK.GetArrayFromImage(image)
    assert (values.shape, values.dtype, values.min(), values.max()) == ((48, 96, 96), np.int16, -1000, 3000)
