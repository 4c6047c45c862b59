"""Grids in another orientation are turned to the expected one, exactly; anything else is told or refused."""

import itertools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import SimpleITK as sitk
from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from readers.made import png, refusal, safe
from scipy.spatial.transform import Rotation

from podium.readers.files import SafeFile
from podium.readers.geometry import Geometry, check_place, differences, matching_turn, nearest_turn, turned_geometry
from podium.readers.images import geometry_of, read_image
from podium.readers.volumes import read_mask_volume, read_volume

SHAPE = (5, 6, 7)
ORIENTATIONS = [
    "".join(letters) for axes in itertools.permutations(("LR", "PA", "SI")) for letters in itertools.product(*axes)
]
STRAIGHT = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
HERE = Geometry((0.8, 0.9, 2.5), (-10.0, 20.0, 30.0), STRAIGHT)


def image_of(array: Any, geometry: Geometry) -> sitk.Image:
    image = sitk.GetImageFromArray(array)
    image.SetSpacing(geometry.spacing)
    image.SetOrigin(geometry.origin)
    image.SetDirection(geometry.direction)
    return image


def labels(*, dense: bool = True, seed: int = 1) -> Any:
    """No two orientations of it are the same."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, 5, SHAPE, np.uint8) * (rng.random(SHAPE) < (1 if dense else 0.05)).astype(np.uint8)


def stored(folder: Path, image: sitk.Image, name: str = "a.nii.gz") -> SafeFile:
    sitk.WriteImage(image, str(folder / name))
    return SafeFile.inside(folder, name)


@pytest.mark.parametrize("ending", [".nii.gz", ".mha"])
def test_every_orientation_of_a_patient_is_the_same_array(tmp_path: Path, ending: str) -> None:
    assert len({*ORIENTATIONS}) == 48
    for code in ORIENTATIONS:
        for dense in (True, False):
            array = labels(dense=dense)
            image = image_of(array, HERE)
            other = sitk.DICOMOrient(image, code)
            for source, target in ((image, other), (other, image)):
                file, expected = stored(tmp_path, source, f"a{ending}"), sitk.GetArrayFromImage(target)
                options: Any = {"shape": expected.shape, "onto": geometry_of(target)}
                assert (read_image(file, **options).array == expected).all(), code
                assert (read_volume(file, **options).labels == expected).all(), code
                assert (read_volume(file, **options, as_voxels=True).labels == expected).all(), code
                mask = read_mask_volume(file, **options)
                assert mask.shape == expected.shape
                assert (mask.labels == (expected != 0)).all(), code
                found = read_image(file, **options).geometry
                warnings = check_place("a", found, options["onto"], expected.shape, "strict")
                assert len(warnings) == (code != "LPS"), code


@examples(30)
@given(
    rotation=st.integers(0, 2**32 - 1),
    turn=st.tuples(st.permutations(range(3)), st.lists(st.booleans(), min_size=3, max_size=3)),
    place=st.tuples(st.tuples(*[st.floats(0.2, 6)] * 3), st.tuples(*[st.floats(-900, 900)] * 3)),
    ending=st.sampled_from([".nii", ".mha"]),
)
def test_an_oblique_grid_is_turned_by_permutation_and_flips_alone(
    tmp_path_factory: pytest.TempPathFactory,
    rotation: int,
    turn: tuple[list[int], list[bool]],
    place: tuple[tuple[float, ...], tuple[float, ...]],
    ending: str,
) -> None:
    direction = Rotation.random(random_state=np.random.default_rng(rotation)).as_matrix()
    array, (axes, flips) = labels(seed=rotation), turn
    image = image_of(array, Geometry(*place, tuple(direction.reshape(-1).tolist())))
    other = sitk.Flip(sitk.PermuteAxes(image, axes), flips)
    file = stored(tmp_path_factory.mktemp("turned"), other, f"a{ending}")
    found = read_image(file, shape=SHAPE, onto=geometry_of(image))
    assert (found.array == array).all()
    assert found.array.flags.c_contiguous
    changed = axes != sorted(axes) or any(flips)
    assert len(check_place("a", found.geometry, geometry_of(image), SHAPE, "strict")) == changed


@examples(60)
@given(seed=st.integers(0, 2**32 - 1), code=st.sampled_from(ORIENTATIONS))
def test_the_nearest_orientation_is_dicomorients(seed: int, code: str) -> None:
    direction = Rotation.random(random_state=np.random.default_rng(seed)).as_matrix()
    image = image_of(np.zeros(SHAPE, np.uint8), replace(HERE, direction=tuple(direction.reshape(-1).tolist())))
    expected = sitk.DICOMOrient(image, code)
    axes = np.reshape(sitk.DICOMOrientImageFilter.GetDirectionCosinesFromOrientation(code), (3, 3))
    turn = nearest_turn(geometry_of(image), axes)
    shape = tuple(SHAPE[axis] for axis, _ in turn)
    assert shape == expected.GetSize()[::-1]
    found = turned_geometry(geometry_of(image), turn, shape)
    for part in ("spacing", "origin", "direction"):
        assert np.allclose(getattr(found, part), getattr(geometry_of(expected), part))


def moved(*millimetres: float, **parts: Sequence[float]) -> Geometry:
    origin = tuple(here + by for here, by in zip(HERE.origin, millimetres or (0, 0, 0), strict=True))
    return replace(HERE, origin=origin, **{part: tuple(numbers) for part, numbers in parts.items()})


ROTATED = tuple(Rotation.from_euler("z", 30, degrees=True).as_matrix().reshape(-1).tolist())


@pytest.mark.parametrize(
    ("found", "different"),
    [
        (moved(), {}),
        (moved(0.079, 0.089, 0.249), {}),
        (moved(0.0, 0.091, 0.0), {"origin": "0.091 mm"}),
        (moved(0.0, 0.0, 0.25), {}),
        (moved(12.5, 0.0, 0.0), {"origin": "12.5 mm"}),
        (moved(3.0, 4.0, 12.0), {"origin": "13 mm"}),
        (moved(spacing=(0.8, 0.9, 2.502)), {}),
        (moved(spacing=(0.8, 0.9, 2.51)), {"spacing": "0.01 mm"}),
        (moved(spacing=(0.8, 0.9, 3.0)), {"spacing": "0.5 mm"}),
        (moved(direction=ROTATED), {"direction": "30 degrees"}),
        (moved(direction=(0.9999995, 0.00099, 0, -0.00099, 0.9999995, 0, 0, 0, 1)), {}),
        (Geometry((1.0,) * 3, (1e308,) * 3, STRAIGHT), {"spacing": "1.5 mm", "origin": "inf mm"}),
        (Geometry((0.8, 0.9), HERE.origin[:2], STRAIGHT[:4]), {}),
        (Geometry((9.0, 9.0, 9.0), (), ()), {}),
        (None, {}),
    ],
)
def test_what_differs_beyond_the_tolerances(found: Geometry | None, different: dict[str, str]) -> None:
    assert differences(found, HERE) == different
    if found is not None:
        assert matching_turn(found, HERE, SHAPE) is None


def test_a_turned_grid_in_another_place_is_not_turned(tmp_path: Path) -> None:
    """A flipped header over unflipped voxels is a mistake, not another orientation."""
    mirrored = moved(direction=(-1.0, 0, 0, 0, -1.0, 0, 0, 0, 1.0))
    array = labels()
    found = read_image(stored(tmp_path, image_of(array, mirrored)), shape=SHAPE, onto=HERE)
    assert (found.array == array).all()
    (warning,) = check_place("a", found.geometry, HERE, SHAPE, "warn")
    assert "although direction differs by 180 degrees." in warning


EXPECTED = "expected 7 x 6 x 5 (x, y, z)"
GRID = "7 x 6 x 5 with spacing 0.8 x 0.9 x 2.5 mm, origin (-10, 20, 30) mm and orientation LPS"


def test_what_participants_are_told() -> None:
    ras = sitk.DICOMOrient(image_of(labels(), HERE), "RAS")
    assert check_place("a.mha", geometry_of(ras), HERE, SHAPE, "warn") == [
        "'a.mha' has the orientation 'RAS' and was brought to the image's, 'LPS', without interpolation."
    ]
    (warning,) = check_place("a.mha", moved(12.5, 0, 0), HERE, SHAPE, "warn")
    both = f"It is {GRID.replace('-10', '2.5')}, expected {GRID} (x, y, z)."
    assert warning == f"'a.mha' is scored by array index although origin differs by 12.5 mm. {both}"
    words = refusal(check_place, "a.mha", moved(12.5, 0, 0), HERE, SHAPE, "strict")
    assert words == f"'a.mha' is not in the place of the image: origin differs by 12.5 mm. {both}"
    (lost,) = check_place("a.mha", Geometry((1.0,) * 3, (0.0,) * 3, STRAIGHT), HERE, SHAPE, "warn")
    assert lost.startswith(
        "'a.mha' has lost its header (spacing 1, origin 0, identity): call CopyInformation(image) before saving. It is "
        "scored by array index although spacing differs by 1.5 mm and origin differs by 37.42 mm. It is 7 x 6 x 5 with"
    )
    (oblique,) = check_place("a.mha", moved(direction=ROTATED), HERE, SHAPE, "warn")
    assert "mm and direction (0.866025, -0.5, 0, 0.5, 0.866025, 0, 0, 0, 1), expected" in oblique
    for rule in ("ignore", "strict"):
        assert check_place("a.mha", moved(), HERE, SHAPE, rule) == []
    assert check_place("a.mha", moved(12.5, 0, 0), HERE, SHAPE, "ignore") == []
    assert check_place("a.mha", moved(12.5, 0, 0), None, SHAPE, "strict") == []


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        (
            (7, 6, 5),
            "is 5 x 6 x 7, expected 7 x 6 x 5 (x, y, z): your axes are reversed (z, y, x): transpose before saving.",
        ),
        (
            (5, 7, 6),
            "is 6 x 7 x 5, expected 7 x 6 x 5 (x, y, z): your axes are in another order: transpose before saving.",
        ),
        ((5, 6, 8), "is 8 x 6 x 5, expected 7 x 6 x 5 (x, y, z)."),
        ((6, 7), f"is 7 x 6, {EXPECTED}."),
    ],
)
def test_sizes_are_x_by_y_by_z(tmp_path: Path, shape: tuple[int, ...], words: str) -> None:
    file = stored(tmp_path, sitk.GetImageFromArray(np.zeros(shape, np.uint8)))
    assert refusal(read_image, file, shape=SHAPE) == f"'a.nii.gz' {words}"
    assert refusal(read_image, file, shape=SHAPE, onto=HERE).startswith("'a.nii.gz' is ")


def test_another_size_names_both_geometries(tmp_path: Path) -> None:
    file = stored(tmp_path, image_of(labels()[:-1], HERE))
    found = GRID.replace("x 5 ", "x 4 ")
    words = f"'a.nii.gz' is {found}, expected {GRID} (x, y, z)."
    assert refusal(read_image, file, shape=SHAPE, onto=HERE) == words
    reversed_axes = stored(tmp_path, sitk.GetImageFromArray(labels().transpose()))
    assert refusal(read_image, reversed_axes, shape=SHAPE, onto=HERE).endswith("before saving.")
    # A header that contradicts the size.
    sideways = moved(spacing=(2.5, 0.9, 0.8), direction=(0.0, 0, 1, 0, 1, 0, 1, 0, 0))
    assert "with spacing 2.5 x 0.9 x 0.8" in refusal(
        read_image, stored(tmp_path, image_of(labels(), sideways)), shape=SHAPE, onto=HERE
    )
    # A header that explains the order of the axes, but is of another place: transposing would be wrong.
    elsewhere = sitk.DICOMOrient(image_of(labels(), moved(12.5, 0.0, 0.0)), "SPL")
    assert refusal(read_image, stored(tmp_path, elsewhere), shape=SHAPE, onto=HERE).endswith("(x, y, z).")


def test_pictures_have_no_place(tmp_path: Path) -> None:
    found = read_image(safe(tmp_path, "i.png", png())).geometry
    assert found == Geometry((1.0, 1.0), (), ())
    flat = Geometry((0.5, 0.5), (3.0, 4.0), (1.0, 0.0, 0.0, 1.0))
    assert differences(found, flat) == differences(flat, found) == {}


@pytest.mark.parametrize("number", ["nan", "inf", "-inf"])
def test_a_position_that_is_no_number_is_refused(tmp_path: Path, number: str) -> None:
    header = f"NDims = 2\nOffset = 0 {number}\nDimSize = 2 2\nElementType = MET_UCHAR\nElementDataFile = LOCAL\n"
    file = safe(tmp_path, "i.mha", b"ObjectType = Image\n" + header.encode() + bytes(4))
    assert "'i.mha'" in refusal(read_image, file)
