"""Volumes for the arena: axial slices the usual way round, values kept to a fine step, and the first window."""

import gzip
import itertools
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
import SimpleITK as sitk
from PIL import Image

from podium.errors import UsageError
from podium.tools.arena import images as packing
from podium.tools.arena.images import ValueRange, prepare
from podium.tools.arena.store import Picture

NOISE = np.random.default_rng(3).integers(-1000, 3000, (4, 5, 6)).astype(np.int16)
ORIENTATIONS = [
    "".join(letters) for axes in itertools.permutations(("LR", "PA", "SI")) for letters in itertools.product(*axes)
]


def write(path: Path, values: np.ndarray, *, spacing: tuple[float, ...] | None = None, turn: str = "LPS") -> Path:
    image = sitk.GetImageFromArray(values)
    if spacing is not None:
        image.SetSpacing(spacing)
    if values.ndim == 3:
        image.SetDirection(sitk.DICOMOrientImageFilter.GetDirectionCosinesFromOrientation(turn))
    sitk.WriteImage(image, str(path))
    return path


def slices(folder: Path, prepared: Picture) -> np.ndarray:
    """The raw slices as a browser reads them, in the volume's own unit."""
    raw = gzip.decompress((folder / "volume.u16.gz").read_bytes())
    codes = np.frombuffer(raw, "<u2").reshape(prepared.slices, prepared.height, prepared.width)
    return prepared.value_low + codes / 65535 * (prepared.value_high - prepared.value_low)


def pngs(folder: Path, prepared: Picture) -> np.ndarray:
    found = []
    for number in range(prepared.slices):
        with Image.open(folder / f"{number}.png") as picture:
            assert picture.mode == "L"
            found.append(np.asarray(picture))
    return np.stack(found)


@pytest.mark.parametrize("name", ["case.mha", "case.nii", "case.nii.gz", "CASE.NII.GZ"])
def test_values_are_kept_within_half_a_step(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / name.lower(), NOISE).rename(tmp_path / name)
    prepared = prepare(path, tmp_path / "prepared")
    assert (prepared.is_volume, prepared.slices, prepared.height, prepared.width) == (True, 4, 5, 6)
    assert (prepared.value_low, prepared.value_high) == (NOISE.min(), NOISE.max())
    step = (prepared.value_high - prepared.value_low) / 65535
    expected = NOISE if name == "case.mha" else turned_by_simpleitk(path)
    assert np.abs(slices(tmp_path / "prepared", prepared) - expected).max() <= step / 2 + 1e-9
    files = {path.name for path in (tmp_path / "prepared").iterdir()}
    assert files == {"0.png", "1.png", "2.png", "3.png", "volume.u16.gz"}


def turned_by_simpleitk(path: Path) -> np.ndarray:
    return sitk.GetArrayFromImage(sitk.DICOMOrient(sitk.ReadImage(str(path)), "LPS"))


@pytest.mark.parametrize("turn", ORIENTATIONS)
def test_every_orientation_is_turned_as_simpleitk_turns_it(tmp_path: Path, turn: str) -> None:
    path = write(tmp_path / "case.mha", NOISE, turn=turn, spacing=(1.0, 2.0, 5.0))
    prepared = prepare(path, tmp_path / "prepared")
    turned = sitk.DICOMOrient(sitk.ReadImage(str(path)), "LPS")
    assert np.array_equal(np.rint(slices(tmp_path / "prepared", prepared)), sitk.GetArrayFromImage(turned))
    assert prepared.pixel_aspect == pytest.approx(turned.GetSpacing()[1] / turned.GetSpacing()[0])


@pytest.mark.parametrize("turn", ["LPS", "RAI", "ASR", "IRP"])
def test_the_patients_right_is_on_the_left_the_front_at_the_top_and_the_first_slice_lowest(
    tmp_path: Path, turn: str
) -> None:
    """One bright voxel far to the right, front and bottom of the patient, wherever the file keeps it."""
    image = sitk.Image(7, 7, 7, sitk.sitkInt16)
    image.SetDirection(sitk.DICOMOrientImageFilter.GetDirectionCosinesFromOrientation(turn))
    middle = image.TransformIndexToPhysicalPoint((3, 3, 3))
    right_front_bottom = [coordinate - 3 for coordinate in middle]  # DICOM: +x is left, +y is back, +z is up
    image[image.TransformPhysicalPointToIndex(right_front_bottom)] = 1000
    sitk.WriteImage(image, str(tmp_path / "case.mha"))
    prepared = prepare(tmp_path / "case.mha", tmp_path / "prepared")
    shown = slices(tmp_path / "prepared", prepared)
    assert np.argwhere(shown == 1000).tolist() == [[0, 0, 0]]
    assert shown.max() == pytest.approx(1000)


def test_an_oblique_volume_is_not_resampled(tmp_path: Path) -> None:
    image = sitk.GetImageFromArray(NOISE)
    tilt = np.deg2rad(20)
    image.SetDirection((1, 0, 0, 0, np.cos(tilt), -np.sin(tilt), 0, np.sin(tilt), np.cos(tilt)))
    sitk.WriteImage(image, str(tmp_path / "case.mha"))
    prepared = prepare(tmp_path / "case.mha", tmp_path / "prepared")
    assert np.array_equal(np.rint(slices(tmp_path / "prepared", prepared)), NOISE)


def test_the_first_window_leaves_half_a_per_cent_out_at_either_end(tmp_path: Path) -> None:
    """1000 values 0, 1, ... 999: the fifth smallest is 4, the 995th is 994."""
    ramp = np.arange(1000, dtype=np.float32).reshape(10, 10, 10)
    prepared = prepare(write(tmp_path / "case.mha", ramp), tmp_path / "prepared")
    step = 999 / 65535
    assert prepared.window_low == pytest.approx(4, abs=step)
    assert prepared.window_high == pytest.approx(994, abs=step)
    grey = pngs(tmp_path / "prepared", prepared)
    assert np.abs(grey - np.clip((ramp - 4) / 990, 0, 1) * 255).max() <= 0.52


def test_a_window_of_no_width_becomes_the_whole_range(tmp_path: Path) -> None:
    """A metal pin in water: 99.9 % of the voxels are 0."""
    values = np.zeros((10, 10, 10), np.int16)
    values[0, 0, 0] = 3000
    prepared = prepare(write(tmp_path / "case.mha", values), tmp_path / "prepared")
    assert (prepared.window_low, prepared.window_high) == (0, 3000)
    assert pngs(tmp_path / "prepared", prepared)[0, 0, 0] == 255


def test_one_value_everywhere(tmp_path: Path) -> None:
    prepared = prepare(write(tmp_path / "case.mha", np.full((2, 3, 4), 7, np.int16)), tmp_path / "prepared")
    assert (prepared.value_low, prepared.value_high) == (7, 8)
    assert np.array_equal(slices(tmp_path / "prepared", prepared), np.full((2, 3, 4), 7))


def test_what_is_not_finite_goes_to_the_ends(tmp_path: Path) -> None:
    values = np.linspace(-2, 2, 60, dtype=np.float32).reshape(3, 4, 5)
    values[0, 0, :3] = np.nan, np.inf, -np.inf
    prepared = prepare(write(tmp_path / "case.mha", values), tmp_path / "prepared")
    low = float(values[0, 0, 3])
    assert (prepared.value_low, prepared.value_high) == (pytest.approx(low), 2)
    assert slices(tmp_path / "prepared", prepared)[0, 0, :3].tolist() == [prepared.value_low, 2, prepared.value_low]


@pytest.mark.parametrize("values", [[np.nan, np.inf], [-1.5e308, 1.5e308]])
def test_nothing_that_could_be_shown(tmp_path: Path, values: list[float]) -> None:
    path = write(tmp_path / "case.mha", np.resize(np.array(values), (2, 2, 2)))
    with pytest.raises(UsageError, match=r"^'case\.mha' contains no finite values that could be shown\.$"):
        prepare(path, tmp_path / "prepared")


@pytest.mark.parametrize("kind", [np.uint8, np.int8, np.uint16, np.int32, np.float64])
def test_every_kind_of_number(tmp_path: Path, kind: type) -> None:
    values = np.arange(60).reshape(3, 4, 5).astype(kind)
    prepared = prepare(write(tmp_path / "case.mha", values), tmp_path / "prepared")
    assert np.array_equal(np.rint(slices(tmp_path / "prepared", prepared)), values)


def test_a_flat_mha_is_a_picture(tmp_path: Path) -> None:
    grey = np.random.default_rng(1).integers(0, 256, (5, 6), dtype=np.uint8)
    prepared = prepare(write(tmp_path / "case.mha", grey), tmp_path / "prepared")
    assert prepared == Picture(key=prepared.key, is_volume=False, slices=1, width=6, height=5)
    assert np.array_equal(pngs(tmp_path / "prepared", prepared)[0], grey)
    deep = np.arange(1000, dtype=np.uint16).reshape(20, 50)
    prepared = prepare(write(tmp_path / "case.mha", deep), tmp_path / "deep")
    assert np.abs(pngs(tmp_path / "deep", prepared)[0] - np.clip((deep - 4.0) / 990, 0, 1) * 255).max() <= 0.52
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["0.png"]


def test_a_volume_cut_short_is_not_shown_as_a_black_half(tmp_path: Path) -> None:
    path = write(tmp_path / "case.nii", NOISE)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(UsageError, match=r"^A case's image cannot be used: 'case\.nii' is truncated"):
        prepare(path, tmp_path / "prepared")


def test_a_link_to_a_volume_is_followed(tmp_path: Path) -> None:
    """Organisers link to large files; nobody else writes this folder."""
    write(tmp_path / "original.mha", NOISE)
    (tmp_path / "case.mha").symlink_to(tmp_path / "original.mha")
    assert prepare(tmp_path / "case.mha", tmp_path / "prepared").slices == 4


def test_the_same_bytes_again(tmp_path: Path) -> None:
    path = write(tmp_path / "case.mha", NOISE)
    contents = []
    for name in ("one", "two"):
        prepare(path, tmp_path / name)
        contents.append({file.name: file.read_bytes() for file in (tmp_path / name).iterdir()})
    assert contents[0] == contents[1]


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint16, np.int16, np.int32, np.float32])
def test_codes_are_the_same_looked_up_or_computed(dtype: type[np.generic]) -> None:
    values = np.random.default_rng(5).integers(0, 120, (3, 40, 50)).astype(dtype)
    values[0, 0, :2] = np.iinfo(dtype).min if np.issubdtype(dtype, np.integer) else -1e30, 127
    span = ValueRange.over(values)
    assert span is not None
    turned = values.transpose(2, 0, 1)[::-1, :, ::-1]
    codes = span.coder(values.dtype)(turned)
    shares = (turned.astype(np.float64) - span.low) / (span.high - span.low)
    assert np.array_equal(codes, np.rint(shares * 65535).astype(np.uint16))
    assert codes.dtype == np.uint16


@pytest.mark.parametrize("isal", [True, False], ids=["isal", "zlib"])
def test_slices_are_packed_without_a_name_or_a_date(
    isal: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not isal:
        monkeypatch.setattr(packing, "isal_zlib", None)
    data = bytes(range(256)) * 500
    packing.write_gzip(tmp_path / "slices.gz", [data, data[:77]])
    packed = (tmp_path / "slices.gz").read_bytes()
    assert packed[:8] == b"\x1f\x8b\x08\0\0\0\0\0"
    assert gzip.decompress(packed) == data + data[:77]
    assert zlib.decompress(packing.zlib_stream(data)) == data


def test_the_package_for_volumes_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "SimpleITK", None)  # as if it were not installed
    (tmp_path / "volume.nii.gz").touch()
    with pytest.raises(
        UsageError, match=r"^This command needs SimpleITK: run \"pip install '\.\[arena,volumes\]'\" in "
    ):
        prepare(tmp_path / "volume.nii.gz", tmp_path)
