"""The committed lesions samples are what the generators write, and as varied as they claim to be."""

import gzip
import json
from pathlib import Path

import numpy as np
import SimpleITK
from places import ROOT

from samples import expect_lesions, lesions
from samples.lesions_cases import PLANS, cases

FOLDERS = (*lesions.FOLDERS, expect_lesions.EXPECTED)


def contents(root: Path) -> dict[str, bytes | None]:
    """Every generated file by name, gzipped ones unpacked (the system's zlib decides how they are packed).

    A file that was cut short on purpose is not unpacked: where it is cut depends on the packing.
    """
    found: dict[str, bytes | None] = {}
    for folder in FOLDERS:
        for path in sorted(path for path in (root / folder).rglob("*") if path.is_file()):
            data: bytes | None = path.read_bytes()
            if path.suffix == ".gz":
                try:
                    data = gzip.decompress(path.read_bytes())
                except EOFError:
                    data = None
            if path.suffix == ".mha":
                data = pixels(path)
            found[path.relative_to(root).as_posix()] = data
    return found


def pixels(path: Path) -> bytes | None:
    try:
        image = SimpleITK.ReadImage(str(path))
    except RuntimeError:
        return None
    return repr((image.GetSpacing(), image.GetDirection())).encode() + SimpleITK.GetArrayFromImage(image).tobytes()


def test_regenerating_gives_the_committed_content(tmp_path: Path) -> None:
    lesions.write_samples(tmp_path)
    expect_lesions.write_expected(tmp_path)
    committed, regenerated = contents(ROOT), contents(tmp_path)
    assert sorted(committed) == sorted(regenerated)
    assert [name for name in committed if committed[name] != regenerated[name]] == []


def test_all_samples_together_stay_below_two_megabytes() -> None:
    sizes = [path.stat().st_size for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.is_file()]
    assert 100_000 < sum(sizes) < 2_000_000


def test_the_phantoms_are_as_planned() -> None:
    assert [int(case.instances.max()) for case in cases()] == [plan.lesions for plan in PLANS]
    assert sorted(plan.lesions for plan in PLANS)[0] == 0
    assert sorted(plan.lesions for plan in PLANS)[-1] == 60
    assert all((np.unique(case.reference)[1:] % 3 == 0).all() for case in cases() if case.plan.stored == "instances")


def test_jobs_of_a_case_lie_scattered() -> None:
    jobs = json.loads((ROOT / lesions.SUBMISSIONS / "ember/predictions.json").read_text())
    names = [entry["image"]["name"] for job in jobs for entry in job["inputs"] if entry["interface"]["slug"] == "ct"]
    assert len(jobs) == len(PLANS) * 6
    assert names != sorted(names)
    assert {name.endswith("_0000.mha") for name in names} == {True, False}


def test_dice_rises_for_both_teams() -> None:
    for team in ("ember", "glow"):
        expected = json.loads((ROOT / expect_lesions.EXPECTED / f"{team}.json").read_text())
        curve = expected["aggregates"]["dice_by_step"]
        assert curve["5"] > curve["3"] > curve["0"]
