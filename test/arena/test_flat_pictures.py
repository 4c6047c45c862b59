"""Pictures for the arena: the pixels of the source, upright, 8 bit, and nothing else."""

import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from PIL import Image, ImageCms

from podium.errors import UsageError
from podium.tools.arena.images import prepare
from podium.tools.arena.store import PreparedImage

NOISE = np.random.default_rng(7).integers(0, 256, (30, 40, 4), dtype=np.uint8)
ORIENTATION = 274
UNDONE = {  # how a picture with this EXIF orientation is brought upright
    1: lambda a: a,
    2: np.fliplr,
    3: lambda a: np.rot90(a, 2),
    4: np.flipud,
    5: lambda a: a.swapaxes(0, 1),
    6: lambda a: np.rot90(a, -1),
    7: lambda a: np.rot90(a, 2).swapaxes(0, 1),
    8: np.rot90,
}


def shown(source: Path) -> np.ndarray:
    """The pixels of the only page."""
    target = source.parent / "prepared"
    assert prepare(source, target).slices == 1
    return opened(target / "0.png")


def opened(path: Path, mode: str | None = None) -> np.ndarray:
    with Image.open(path) as picture:
        return np.asarray(picture.convert(mode) if mode else picture)


def saved(tmp_path: Path, pixels: np.ndarray, name: str = "case.png", mode: str | None = None, **options) -> Path:
    picture = Image.fromarray(pixels)
    (picture.convert(mode) if mode else picture).save(tmp_path / name, **options)
    return tmp_path / name


@settings(max_examples=40, deadline=None)
@given(
    pixels=arrays(
        np.uint8, st.tuples(st.integers(1, 9), st.integers(1, 9)) | st.tuples(*[st.integers(1, 9)] * 2, st.just(3))
    ),
    ending=st.sampled_from(["png", "tif", "PNG", "tiff"]),
)
def test_lossless_pictures_keep_every_pixel(
    tmp_path_factory: pytest.TempPathFactory, pixels: np.ndarray, ending: str
) -> None:
    folder = tmp_path_factory.mktemp("picture")
    Image.fromarray(pixels).save(folder / f"case.{ending}")
    prepared = prepare(folder / f"case.{ending}", folder / "prepared")
    height, width = pixels.shape[:2]
    assert prepared == PreparedImage(is_volume=False, slices=1, width=width, height=height)
    assert np.array_equal(opened(folder / "prepared/0.png"), pixels)
    assert [path.name for path in (folder / "prepared").iterdir()] == ["0.png"]


def test_a_jpeg_is_what_it_decodes_to(tmp_path: Path) -> None:
    path = saved(tmp_path, NOISE[..., :3], "case.jpeg")
    assert np.array_equal(shown(path), opened(path))


@pytest.mark.parametrize("orientation", UNDONE)
@pytest.mark.parametrize("name", ["case.png", "case.tif"])
def test_exif_orientation_is_applied(tmp_path: Path, orientation: int, name: str) -> None:
    exif = Image.Exif()
    exif[ORIENTATION] = orientation
    pixels = NOISE[..., :3]
    assert np.array_equal(shown(saved(tmp_path, pixels, name, exif=exif)), UNDONE[orientation](pixels))


def test_transparency_lies_on_black_and_hides_nothing_beneath(tmp_path: Path) -> None:
    expected = np.rint(NOISE[..., :3] * (NOISE[..., 3:] / 255))
    assert np.abs(shown(saved(tmp_path, NOISE)) - expected).max() <= 1
    hidden = NOISE.copy()
    hidden[..., 3] = 0
    assert not shown(saved(tmp_path, hidden)).any()


def test_grey_with_transparency_stays_grey(tmp_path: Path) -> None:
    grey = Image.fromarray(NOISE[..., 0])
    grey.putalpha(Image.fromarray(np.where(NOISE[..., 1] > 99, 255, 0).astype(np.uint8)))
    grey.save(tmp_path / "case.png")
    assert np.array_equal(shown(tmp_path / "case.png"), np.where(NOISE[..., 1] > 99, NOISE[..., 0], 0))


def test_a_palette_a_bitmap_and_cmyk(tmp_path: Path) -> None:
    source = saved(tmp_path, NOISE[..., :3], mode="P")
    assert np.array_equal(shown(source), opened(source, "RGB"))
    bits = np.where(NOISE[..., 0] > 127, 255, 0).astype(np.uint8)
    assert np.array_equal(shown(saved(tmp_path, bits, mode="1")), bits)
    cmyk = saved(tmp_path, NOISE[..., :3], "case.tif", mode="CMYK")
    assert np.array_equal(shown(cmyk), opened(cmyk, "RGB"))


@pytest.mark.parametrize("name", ["case.png", "case.tif"])
def test_sixteen_bit_is_stretched_between_its_percentiles(tmp_path: Path, name: str) -> None:
    """1000 values from 3000 on: 0.5 % are the five darkest, 99.5 % leaves the five brightest out."""
    ramp = (3000 + np.arange(1000, dtype=np.uint16)).reshape(20, 50)
    grey = shown(saved(tmp_path, ramp, name)).reshape(-1)
    assert (grey.dtype, grey[:5].max(), grey[994:].min()) == (np.uint8, 0, 255)
    assert np.abs(grey - np.clip((np.arange(1000) - 4) / 990, 0, 1) * 255).max() <= 0.51


def test_a_float_tiff_is_stretched_too_and_nan_is_black(tmp_path: Path) -> None:
    ramp = np.linspace(-1, 1, 1000, dtype=np.float32).reshape(20, 50)
    ramp[19, 49] = np.nan
    grey = shown(saved(tmp_path, ramp, "case.tif"))
    assert (grey[0, 0], grey[19, 48], grey[19, 49]) == (0, 255, 0)


def test_white_is_zero(tmp_path: Path) -> None:
    """Old digitisers store radiographs inverted and say so in a tag; Pillow undoes that up to 8 bit only."""
    ramp = np.linspace(0, 4095, 1000).astype(np.uint16).reshape(20, 50)
    assert opened(saved(tmp_path, ramp, "case.tif", tiffinfo={262: 0}))[0, 0] == 0
    grey = shown(tmp_path / "case.tif")
    assert (grey[0, 0], grey[19, 49]) == (255, 0)


def test_one_value_everywhere_is_no_reason_to_stop(tmp_path: Path) -> None:
    assert not shown(saved(tmp_path, np.full((4, 5), 777, np.uint16))).any()


def test_pages_of_a_tiff_are_shown_one_by_one_without_thumbnails(tmp_path: Path) -> None:
    pages = [Image.fromarray(NOISE[..., channel]) for channel in range(3)]
    thumbnail = Image.fromarray(NOISE[::4, ::4, 0])
    thumbnail.encoderinfo = {"tiffinfo": {254: 1}}
    pages[0].save(tmp_path / "case.tif", save_all=True, append_images=[thumbnail, *pages[1:]])
    prepared = prepare(tmp_path / "case.tif", tmp_path / "prepared")
    assert prepared == PreparedImage(is_volume=False, slices=3, width=40, height=30)
    for number in range(3):
        assert np.array_equal(opened(tmp_path / f"prepared/{number}.png"), NOISE[..., number])
    assert len(list((tmp_path / "prepared").iterdir())) == 3


def test_pages_of_different_sizes(tmp_path: Path) -> None:
    pages = [Image.fromarray(NOISE[..., 0]), Image.fromarray(NOISE[:9, :9, 0])]
    pages[0].save(tmp_path / "case.tif", save_all=True, append_images=pages[1:])
    with pytest.raises(UsageError) as error:
        prepare(tmp_path / "case.tif", tmp_path / "prepared")
    assert str(error.value) == "'case.tif' has pages of different sizes; save each as a separate picture."


def test_an_embedded_profile_is_converted(tmp_path: Path) -> None:
    """In a profile whose red and blue primaries are exchanged, red means blue."""
    srgb = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    exchanged = srgb.replace(b"rXYZ", b"tmp!").replace(b"bXYZ", b"rXYZ").replace(b"tmp!", b"bXYZ")
    pixels = NOISE[..., :3].astype(int)
    assert np.abs(shown(saved(tmp_path, NOISE[..., :3], icc_profile=srgb)) - pixels).max() <= 1
    assert np.abs(shown(saved(tmp_path, NOISE[..., :3], icc_profile=exchanged)) - pixels[..., ::-1]).max() <= 1


def test_a_grey_picture_with_a_profile_stays_grey(tmp_path: Path) -> None:
    srgb = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    assert np.array_equal(shown(saved(tmp_path, NOISE[..., 0], icc_profile=srgb)), NOISE[..., 0])


def test_a_damaged_profile_is_ignored(tmp_path: Path) -> None:
    assert np.array_equal(shown(saved(tmp_path, NOISE[..., :3], icc_profile=b"no profile")), NOISE[..., :3])


def test_a_decompression_bomb(tmp_path: Path) -> None:
    """90 million pixels in a few kilobytes."""
    packed = io.BytesIO()
    Image.new("1", (10_000, 9_000)).save(packed, "PNG")
    (tmp_path / "case.png").write_bytes(packed.getvalue())
    with pytest.raises(UsageError) as error:
        prepare(tmp_path / "case.png", tmp_path / "prepared")
    assert str(error.value) == "'case.png' has more than 89,478,485 pixels; save it smaller."
    Image.new("1", (15_000, 15_000)).save(tmp_path / "case.png")
    with pytest.raises(UsageError, match="more than 89,478,485 pixels"):
        prepare(tmp_path / "case.png", tmp_path / "prepared")


@pytest.mark.parametrize("name", ["case.png", "case.jpg", "case.tif"])
@pytest.mark.parametrize("share", [0.0, 0.02, 0.5])
def test_a_file_cut_short(tmp_path: Path, name: str, share: float) -> None:
    whole = saved(tmp_path, NOISE[..., :3], name).read_bytes()
    (tmp_path / name).write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(UsageError) as error:
        prepare(tmp_path / name, tmp_path / "prepared")
    assert str(error.value) == f"'{name}' cannot be read as a PNG, JPEG or TIFF picture."


def test_other_formats_are_not_opened(tmp_path: Path) -> None:
    Image.fromarray(NOISE[..., 0]).save(tmp_path / "case.png", "GIF")
    with pytest.raises(UsageError, match=r"'case\.png' cannot be read as a PNG, JPEG or TIFF picture\."):
        prepare(tmp_path / "case.png", tmp_path / "prepared")


def test_the_same_bytes_again(tmp_path: Path) -> None:
    source = saved(tmp_path, NOISE)
    for name in ("one", "two"):
        prepare(source, tmp_path / name)
    assert (tmp_path / "one/0.png").read_bytes() == (tmp_path / "two/0.png").read_bytes()
