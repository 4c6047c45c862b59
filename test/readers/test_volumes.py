"""Label volumes read in blocks: the same values as SimpleITK's, the same refusals as for any other image."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import SimpleITK
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from podium.errors import Refused
from podium.readers.files import SafeFile
from podium.readers.images import read_image
from podium.readers.inflate import BLOCK
from podium.readers.volumes import FEW_VOXELS, read_mask_volume, read_volume

SHAPE = (5, 6, 7)


def labels(dtype: Any, shape: tuple[int, ...] = SHAPE) -> np.ndarray:
    rng = np.random.default_rng(3)
    return (rng.integers(0, 4, shape) * (rng.random(shape) < 0.4)).astype(dtype)


def write(path: Path, values: np.ndarray, *, compress: bool = True) -> SafeFile:
    image = SimpleITK.GetImageFromArray(values)
    image.SetSpacing((2.0, 3.0, 4.0))
    image.SetOrigin((-5.0, 6.0, 7.5))
    SimpleITK.WriteImage(image, str(path), useCompression=compress)
    return SafeFile.inside(path.parent, path.name)


TYPES = [np.uint8, np.int8, np.uint16, np.int16, np.uint32, np.int32, np.uint64, np.int64, np.float32, np.float64]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(
    ("name", "compress"), [("v.nii.gz", True), ("v.nii", False), ("v.mha", True), ("v.mha", False)]
)
def test_every_type_and_packing(tmp_path: Path, dtype: Any, name: str, compress: bool) -> None:
    values = labels(dtype)
    file = write(tmp_path / name, values, compress=compress)
    volume = read_volume(file, shape=SHAPE)
    assert np.array_equal(volume.labels, values)
    assert volume.labels.dtype == np.uint8
    assert volume.geometry.spacing == (2.0, 3.0, 4.0)
    assert volume.geometry.origin == (-5.0, 6.0, 7.5)
    image, by_simpleitk = read_image(file, shape=SHAPE), SimpleITK.ReadImage(str(file.path))
    assert image.array.dtype == SimpleITK.GetArrayFromImage(by_simpleitk).dtype
    assert np.array_equal(image.array, values)
    assert image.geometry.direction == by_simpleitk.GetDirection()


@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.int16])
@pytest.mark.parametrize("name", ["v.nii.gz", "v.mha"])
def test_volumes_of_many_blocks(tmp_path: Path, dtype: Any, name: str) -> None:
    """Larger than a block of unpacked bytes, and not a multiple of it; a header shifts the pixels by 352 bytes."""
    values = labels(dtype, (37, 211, 135))
    values[10:20] = 0
    assert values.nbytes > BLOCK
    assert np.array_equal(read_mask_volume(write(tmp_path / name, values)).labels, values != 0)


@pytest.mark.parametrize("few", [0, 1000, FEW_VOXELS])
@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.int16])
@given(seed=st.integers(0, 2**32), filled=st.sampled_from([0.0, 0.001, 0.05, 0.5, 1.0]))
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_voxels_are_the_volume_however_many_there_are(
    tmp_path_factory: pytest.TempPathFactory, few: int, dtype: Any, seed: int, filled: float
) -> None:
    """Beyond `few` voxels a volume is kept whole; either way it is what was written."""
    rng = np.random.default_rng(seed)
    shape, largest = (11, 61, 37), 255 if dtype == np.uint8 else 400
    values = ((rng.random(shape) < filled) * rng.integers(1, largest, shape, endpoint=True)).astype(dtype)
    file = write(tmp_path_factory.mktemp("volume") / "v.nii.gz", values)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("podium.readers.volumes.FEW_VOXELS", few)
        volume, mask = read_volume(file, as_voxels=True), read_mask_volume(file)
    assert np.array_equal(volume.labels, values)
    assert np.array_equal(mask.labels, values != 0)
    assert (volume.voxels is None) == (np.count_nonzero(values) > few)
    if volume.voxels is not None:
        assert volume.voxels.places.tolist() == np.flatnonzero(values).tolist()
        assert volume.voxels.labels.tolist() == values[values != 0].tolist()


@pytest.mark.parametrize(
    ("largest", "dtype"), [(255, np.uint8), (256, np.uint16), (65536, np.uint32), (2**32 - 1, np.uint32)]
)
def test_the_smallest_type_that_holds_the_labels(tmp_path: Path, largest: int, dtype: Any) -> None:
    values = labels(np.int64)
    values[-1, -1, -1] = largest
    volume = read_volume(write(tmp_path / "v.nii.gz", values))
    assert volume.labels.dtype == dtype
    assert np.array_equal(volume.labels, values)


def test_a_label_that_is_too_large(tmp_path: Path) -> None:
    values = labels(np.int64)
    values[0, 0, 0] = 2**32
    with pytest.raises(Refused, match="holds the label 4294967296; labels go up to 4294967295"):
        read_volume(write(tmp_path / "v.nii.gz", values))


def test_another_shape_is_refused_before_anything_is_unpacked(tmp_path: Path) -> None:
    file = write(tmp_path / "v.nii.gz", labels(np.uint8))
    file.path.write_bytes(file.path.read_bytes()[:-20])
    with pytest.raises(Refused, match="is 7 x 6 x 5, expected 8 x 6 x 5"):
        read_mask_volume(file, shape=(5, 6, 8))


def test_few_probabilities_among_zeros_are_still_probabilities(tmp_path: Path) -> None:
    values = np.zeros((40, 40, 40), np.float32)
    values[1, 2, 3] = 0.5
    with pytest.raises(Refused, match=r"fractional value 0\.5; this looks like a probability map"):
        read_mask_volume(write(tmp_path / "v.nii.gz", values))


def test_floats_near_whole_numbers_are_labels(tmp_path: Path) -> None:
    values = labels(np.uint8) + np.where(labels(np.uint8) % 2, 1e-7, -1e-7).astype(np.float32)
    file = write(tmp_path / "v.nii.gz", values)
    assert np.array_equal(read_volume(file).labels, labels(np.uint8))
    mask = write(tmp_path / "m.nii.gz", np.where(MASK, np.float32(0.9999999), np.float32(1e-7)))
    assert np.array_equal(read_mask_volume(mask).labels, MASK)


def test_minus_zero_is_background(tmp_path: Path) -> None:
    assert not read_mask_volume(write(tmp_path / "v.mha", np.full(SHAPE, -0.0, np.float32))).labels.any()


def test_two_axes_are_no_volume(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="has 2 axes; send a 3-D volume"):
        read_mask_volume(write(tmp_path / "v.mha", labels(np.uint8)[0]))


MASK = (labels(np.uint8) > 0).astype(np.uint8)
BAD_VOLUMES = {
    "size": MASK[..., :-1].copy(),
    "axes": MASK[0],
    "probabilities": MASK * np.float32(0.25),
    "fractions": MASK * np.float32(2.5),
    "NaN": MASK * np.float32(np.nan),
    "infinite": np.where(MASK, np.float32(np.inf), np.float32(0)),
    "negative": MASK.astype(np.int16) * -3,
}


@pytest.mark.parametrize("fault", BAD_VOLUMES)
@pytest.mark.parametrize("name", ["v.nii.gz", "v.mha"])
def test_bad_volumes_are_refused(tmp_path: Path, name: str, fault: str) -> None:
    with pytest.raises(Refused, match=f"^'{name}' "):
        read_mask_volume(write(tmp_path / name, BAD_VOLUMES[fault]), shape=SHAPE)
