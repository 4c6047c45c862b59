"""Which packages are loaded before the files of a declared challenge are read."""

from pathlib import Path

import pytest

from podium.challenges import load_challenge
from podium.challenges.format import read_challenge_folders

GROUND_TRUTH = Path(__file__).resolve().parents[2] / "ground-truth"
MASK = 'kind = "labels"\nlabels = { lesion = 1 }\n'


def libraries_of(folder: Path) -> set[str]:
    (found,) = read_challenge_folders(folder).values()
    return set(load_challenge(found).format.libraries)


@pytest.mark.parametrize(
    ("value", "expected"),
    {
        'file = "{case}.nii.gz"\nreference = "{case}.nii.gz"': {"SimpleITK"},
        'file = "{case}.h5"\nreference = "{case}.h5"\ndataset = "mask"': {"h5py"},
        'file = "{case}.HDF5"\nreference = "{case}.nii.gz"\ndataset = "mask"': {"h5py", "SimpleITK"},
        'socket = "mask"\nreference = "{case}.h5"\nreference_dataset = "mask"': {"h5py", "SimpleITK"},
    }.items(),
)
def test_an_image_has_the_packages_of_its_files(tmp_path: Path, value: str, expected: set[str]) -> None:
    metric = '[[metrics]]\nkind = "dice"\n[ranking]\nby = "dice.mean"\n'
    head = 'kind = "declared"\ntitle = "T"\nversion = "1"\nper_case = "full"\n'
    settings = f'{head}[cases]\ninput = "ct"\n[values.mask]\n{MASK}{value}\n{metric}'
    (tmp_path / "challenge.toml").write_text(settings, encoding="utf-8")
    assert libraries_of(tmp_path) == expected


def test_a_number_in_json_needs_none(tmp_path: Path) -> None:
    value = '[values.age]\nkind = "number"\nfile = "{case}.json"\nreference = "{case}.json"\nrange = [0, 9]\n'
    metric = '[[metrics]]\nkind = "mae"\n[ranking]\nby = "mae.mean"\n'
    head = 'kind = "declared"\ntitle = "T"\nversion = "1"\nper_case = "full"\n'
    (tmp_path / "challenge.toml").write_text(head + value + metric, encoding="utf-8")
    assert libraries_of(tmp_path) == set()


@pytest.mark.parametrize(
    ("name", "expected"),
    [("carotid", {"h5py"}), ("lesions", {"SimpleITK"}), ("freehand", {"h5py"}), ("reports", set())],
)
def test_the_bundled_challenges(name: str, expected: set[str]) -> None:
    assert libraries_of(GROUND_TRUTH / name) == expected
