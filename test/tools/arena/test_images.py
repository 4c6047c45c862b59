"""The images of the cases: which files are those of which case, and what is kept of them."""

import gzip
import locale
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import SimpleITK as sitk
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from PIL import Image, ImageCms
from PIL.PngImagePlugin import PngInfo
from places import ROOT
from properties import examples
from samples.reports_cases import CASES

from podium.errors import UsageError
from podium.tools.arena.images import VIEWS, find_cases, part_of, prepare
from podium.tools.arena.store import Picture

SAMPLES = ROOT / "test/arena-cases"


def refusal(work: Callable[[], object]) -> str:
    with pytest.raises(UsageError) as error:
        work()
    return str(error.value)


def refused(source: Path) -> str:
    """What is said of an image that cannot be prepared."""
    return refusal(lambda: prepare(source, source.parent / "prepared"))


def touch(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    return folder


def test_files_and_folders_of_every_kind(tmp_path: Path) -> None:
    names = ["B3.JPEG", "a1.png", "b2.jpg", "c4.tif", "d5.tiff", "e6.mha", "f7.nii", "g8.nii.gz", "1.2.840.png"]
    folder = touch(tmp_path, *names, "h9/2.png", "h9/1.nii.gz", "h9/.DS_Store", ".hidden", "i0/u.stl", "i0/l.ply")
    found = find_cases(folder)
    assert list(found) == ["1.2.840", "B3", "a1", "b2", "c4", "d5", "e6", "f7", "g8", "h9", "i0"]
    assert found["i0"] == (folder / "i0/l.ply", folder / "i0/u.stl")
    assert found["g8"] == (folder / "g8.nii.gz",)
    assert found["h9"] == (folder / "h9/1.nii.gz", folder / "h9/2.png")


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        ([], "The folder {folder} contains no case images."),
        (
            ["readme"],
            "{folder}/readme is not an image of a case; these are named <case>.png, jpg, jpeg, tif, tiff, mha, nii, "
            "nii.gz, stl, ply or obj.",
        ),
        (
            ["a.png", "a.nii"],
            "{folder}/a.nii and {folder}/a.png are both the case 'a'; put its images into one folder.",
        ),
        (["A.png", "a/1.png"], "{folder}/A.png and {folder}/a are both the case 'a'; put its images into one folder."),
        (["a.png", "b/.hidden"], "The folder {folder}/b contains no image of its case."),
        *(
            (
                ["a.png", name],
                "{folder}/" + bad + " is not an image of a case; these are named <case>.png, jpg, jpeg, tif, ",
            )
            for name, bad in (("b.dcm", "b.dcm"), ("b/notes.txt", "b/notes.txt"), ("b/c/1.png", "b/c"))
        ),
    ],
)
def test_what_could_lose_a_case_is_refused(tmp_path: Path, names: list[str], sentence: str) -> None:
    assert refusal(lambda: find_cases(touch(tmp_path, *names))).startswith(sentence.format(folder=tmp_path))


def test_a_folder_named_like_an_image_is_a_case_and_none_is_refused(tmp_path: Path) -> None:
    missing = f"There is no folder {tmp_path / 'none'} with the images of the cases."
    assert refusal(lambda: find_cases(tmp_path / "none")) == missing
    assert list(find_cases(touch(tmp_path, "a.png/1.jpg"))) == ["a.png"]


def test_the_sample_images_are_those_of_the_sample_reports(tmp_path: Path) -> None:
    cases = find_cases(SAMPLES)
    assert list(cases) == sorted(CASES)
    radiograph, scan = (prepare(cases[case][0], tmp_path / case) for case in ("B003", "T001"))
    assert (radiograph.is_volume, radiograph.width, radiograph.height) == (False, 480, 320)
    assert (scan.slices, scan.value_low, scan.value_high, scan.pixel_aspect) == (48, -1000, 3000, 1)


# Folders of DICOM files become volumes, and lose everything but their values.


@pytest.fixture(autouse=True)
def _same_locale() -> Iterator[None]:
    """GDCM sets the C locale as it writes, in which text is ASCII: the tests after these must not notice."""
    before = locale.setlocale(locale.LC_ALL)
    yield
    locale.setlocale(locale.LC_ALL, before)


def write_series(folder: Path, *, uid: str = "1.2.3", ending: str = ".dcm", slices: int = 6) -> None:
    """Slices with a bright block on the patient's right; file names run against the positions."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(slices):
        values = np.full((20, 24), -1000, dtype=np.int16)
        values[4:8, 2:8] = 100 * number
        image = sitk.GetImageFromArray(values)
        image.SetSpacing((0.5, 0.5))
        tags = {
            **{"0008|0060": "CT", "0010|0010": "Mustermann^Max", "0020|000e": uid, "0020|000d": "1.2"},
            **{"0020|0013": str(number), "0020|0032": f"0\\0\\{number * 1.5}", "0020|0037": "1\\0\\0\\0\\1\\0"},
            **{"0028|1052": "0", "0028|1053": "1", "0008|0018": f"{uid}.{number}"},
        }
        for tag, value in tags.items():
            image.SetMetaData(tag, value)
        writer = sitk.ImageFileWriter()
        writer.KeepOriginalImageUIDOn()
        writer.SetImageIO("GDCMImageIO")
        name = folder / f"{uid}-{slices - number}.dcm"
        writer.SetFileName(str(name))
        writer.Execute(image)
        name.rename(name.with_name(name.name.removesuffix(".dcm") + ending))


@pytest.mark.parametrize("ending", [".dcm", "", ".IMA"])
def test_a_case_folder_of_dicom_files_is_one_volume(ending: str, tmp_path: Path) -> None:
    write_series(tmp_path / "cases/T001", ending=ending)
    images = find_cases(tmp_path / "cases")
    assert images == {"T001": (tmp_path / "cases/T001",)}
    prepared = prepare(images["T001"][0], tmp_path / "out")
    assert (prepared.is_volume, prepared.slices, prepared.width, prepared.height) == (True, 6, 24, 20)
    assert (prepared.pixel_mm, prepared.slice_mm) == (0.5, 1.5)
    assert (prepared.value_low, prepared.value_high) == (-1000, 500)
    top = np.asarray(Image.open(tmp_path / "out/5.png"))
    assert top[5, 4] > top[5, 20]  # by position, and the patient's right is on the left
    assert all(b"Mustermann" not in path.read_bytes() for path in (tmp_path / "out").iterdir())


def test_series_in_folders_of_a_case(tmp_path: Path) -> None:
    write_series(tmp_path / "T001/before", uid="1.2.3")
    write_series(tmp_path / "T001/after", uid="1.2.4")
    assert [path.name for path in find_cases(tmp_path)["T001"]] == ["after", "before"]


def test_two_series_in_one_folder_are_refused(tmp_path: Path) -> None:
    write_series(tmp_path / "T001", uid="1.2.3")
    write_series(tmp_path / "T001", uid="1.2.4")
    assert "holds 2 DICOM series; put one into each folder" in refused(tmp_path / "T001")


def test_files_that_only_are_called_dicom(tmp_path: Path) -> None:
    (tmp_path / "T001").mkdir()
    (tmp_path / "T001/a.dcm").write_bytes(b"nothing")
    assert "holds 0 DICOM series" in refused(find_cases(tmp_path)["T001"][0])


# Pictures for the arena: the pixels of the source, upright, 8 bit, and nothing else.

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


@examples(40)
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
    assert prepared == Picture(key=prepared.key, is_volume=False, slices=1, width=width, height=height)
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
    assert prepared == Picture(key=prepared.key, is_volume=False, slices=3, width=40, height=30)
    for number in range(3):
        assert np.array_equal(opened(tmp_path / f"prepared/{number}.png"), NOISE[..., number])
    assert len(list((tmp_path / "prepared").iterdir())) == 3


def test_pages_of_different_sizes(tmp_path: Path) -> None:
    pages = [Image.fromarray(NOISE[..., 0]), Image.fromarray(NOISE[:9, :9, 0])]
    pages[0].save(tmp_path / "case.tif", save_all=True, append_images=pages[1:])
    assert refused(tmp_path / "case.tif") == "'case.tif' has pages of different sizes; save each as a separate picture."


def test_an_embedded_profile_is_converted(tmp_path: Path) -> None:
    """In a profile whose red and blue primaries are exchanged, red means blue. Grey stays grey; a damaged one is
    ignored."""
    srgb = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    exchanged = srgb.replace(b"rXYZ", b"tmp!").replace(b"bXYZ", b"rXYZ").replace(b"tmp!", b"bXYZ")
    pixels = NOISE[..., :3].astype(int)
    assert np.abs(shown(saved(tmp_path, NOISE[..., :3], icc_profile=srgb)) - pixels).max() <= 1
    assert np.abs(shown(saved(tmp_path, NOISE[..., :3], icc_profile=exchanged)) - pixels[..., ::-1]).max() <= 1

    assert np.array_equal(shown(saved(tmp_path, NOISE[..., 0], icc_profile=srgb)), NOISE[..., 0])
    assert np.array_equal(shown(saved(tmp_path, NOISE[..., :3], icc_profile=b"no profile")), NOISE[..., :3])


def test_a_decompression_bomb(tmp_path: Path) -> None:
    """90 million pixels in a few kilobytes."""
    for size in ((10_000, 9_000), (15_000, 15_000)):
        Image.new("1", size).save(tmp_path / "case.png")
        assert refused(tmp_path / "case.png") == "'case.png' has more than 89,478,485 pixels; save it smaller."


@pytest.mark.parametrize("name", ["case.png", "case.jpg", "case.tif"])
@pytest.mark.parametrize("share", [0.0, 0.02, 0.5])
def test_a_file_cut_short(tmp_path: Path, name: str, share: float) -> None:
    whole = saved(tmp_path, NOISE[..., :3], name).read_bytes()
    (tmp_path / name).write_bytes(whole[: int(share * len(whole))])
    assert refused(tmp_path / name) == f"'{name}' cannot be read as a PNG, JPEG or TIFF picture."
    Image.fromarray(NOISE[..., 0]).save(tmp_path / name, "GIF")  # nor is any other format opened
    assert refused(tmp_path / name) == f"'{name}' cannot be read as a PNG, JPEG or TIFF picture."


def test_the_same_bytes_again(tmp_path: Path) -> None:
    source = saved(tmp_path, NOISE)
    for name in ("one", "two"):
        prepare(source, tmp_path / name)
    assert (tmp_path / "one/0.png").read_bytes() == (tmp_path / "two/0.png").read_bytes()


# Intra-oral scans: what is kept of a mesh file, and what is refused.

CORNERS = ((0, 0, 0), (4, 0, 0), (0, 4, 0), (0, 0, 4))
FACES = ((0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3))


def obj(path: Path) -> Path:
    lines = [f"v {x} {y} {z}" for x, y, z in CORNERS] + [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in FACES]
    path.write_text("# Patient Name\nmtllib ../../secret.mtl\no Mustermann\n" + "\n".join(lines) + "\n")
    return path


def ply(path: Path) -> Path:
    header = "ply\nformat ascii 1.0\ncomment Patient Name\nelement vertex 4\n" + "".join(
        f"property float {axis}\n" for axis in "xyz"
    )
    header += "property uchar red\nproperty uchar green\nproperty uchar blue\n"
    header += "element face 4\nproperty list uchar int vertex_indices\nend_header\n"
    rows = [f"{x} {y} {z} 200 100 50" for x, y, z in CORNERS] + [f"3 {a} {b} {c}" for a, b, c in FACES]
    path.write_text(header + "\n".join(rows) + "\n")
    return path


def stl(path: Path) -> Path:
    rows = b"".join(struct.pack("<12fH", 0, 0, 0, *CORNERS[a], *CORNERS[b], *CORNERS[c], 0) for a, b, c in FACES)
    path.write_bytes(b"Patient Name".ljust(80) + struct.pack("<I", 4) + rows)
    return path


@pytest.mark.parametrize(("write", "name"), [(obj, "x.obj"), (ply, "x.PLY"), (stl, "x.stl")])
def test_corners_and_triangles_and_nothing_else(write: object, name: str, tmp_path: Path) -> None:
    source = write(tmp_path / name)  # type: ignore[operator]
    prepared = prepare(source, tmp_path / "out")
    assert (prepared.slices, prepared.mesh_part) == (VIEWS, "scan")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(prepared.files())
    content = gzip.decompress((tmp_path / "out/mesh.mz3.gz").read_bytes())
    magic, kind, faces, corners, skipped = struct.unpack_from("<HHIII", content)
    assert (magic, faces, skipped) == (23117, 4, 0)
    assert kind == (7 if write is ply else 3)
    triangles = np.frombuffer(content, "<i4", 3 * faces, 16).reshape(-1, 3)
    points = np.frombuffer(content, "<f4", 3 * corners, 16 + 12 * faces).reshape(-1, 3)
    found = {tuple(map(tuple, points[triangle].astype(int).tolist())) for triangle in triangles}
    wanted = {tuple(CORNERS[corner] for corner in face) for face in FACES}
    assert found == wanted
    if write is ply:
        assert tuple(content[-4:-1]) == (200, 100, 50)
    assert b"Patient" not in content


def test_the_views_turn_around_it(tmp_path: Path) -> None:
    prepare(stl(tmp_path / "lower.stl"), tmp_path / "out")
    views = [np.asarray(Image.open(tmp_path / f"out/{view}.png")) for view in (0, VIEWS // 4)]
    assert all((view > 0).mean() > 0.05 for view in views)
    assert (views[0] != views[1]).any()


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("Upper_01.stl", "upper"),
        ("case_maxillary.ply", "upper"),
        ("LOWERJAW.obj", "lower"),
        ("mandible.stl", "lower"),
        ("a.stl", "scan"),
    ],
)
def test_which_jaw_it_is(name: str, part: str) -> None:
    assert part_of(name) == part


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.stl", b""),
        ("a.stl", b"\0" * 80 + struct.pack("<I", 1_000_000)),
        ("a.obj", b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 9\n"),
        ("a.obj", b"v 0 0 0\nv 1 0 0\nv 0 nan 0\nf 1 2 3\n"),
        ("a.ply", b"ply\nformat ascii 1.0\nelement vertex 9\n"),
        ("a.obj", b"v 0 0 0\n"),
    ],
)
def test_what_is_no_mesh_is_refused(name: str, content: bytes, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    assert refused(tmp_path / name) == f"'{name}' cannot be read as an STL, PLY or OBJ mesh."


# A name written into an image file in any place is in none of the bytes that the page can fetch.

NAME = "Quixote^Dolores"
PIXELS = np.random.default_rng(5).integers(0, 256, (20, 30), dtype=np.uint8)
VOLUME = np.random.default_rng(6).integers(-1000, 3000, (4, 5, 6)).astype(np.int16)


def exif() -> Image.Exif:
    tags = Image.Exif()
    tags[270] = tags[315] = NAME  # ImageDescription, Artist
    return tags


def png(path: Path) -> None:
    text = PngInfo()
    text.add_text("Patient", NAME)
    text.add_text("Packed", NAME, zip=True)
    text.add_itxt("Patient", NAME, lang="en")
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes() + NAME.encode()
    Image.fromarray(PIXELS).save(path, pnginfo=text, exif=exif(), icc_profile=profile, compress_level=0)


def jpeg(path: Path) -> None:
    Image.fromarray(PIXELS).save(path, exif=exif(), comment=NAME)


def tiff(path: Path) -> None:
    Image.fromarray(PIXELS).save(path, tiffinfo={270: NAME, 315: NAME, 65000: NAME})


def mha(path: Path) -> None:
    image = sitk.GetImageFromArray(VOLUME)
    sitk.WriteImage(image, str(path))
    path.write_bytes(path.read_bytes().replace(b"ElementType", f"Comment = {NAME}\nElementType".encode(), 1))


def nifti(path: Path) -> None:
    """In `descrip`, `aux_file` and `db_name`."""
    sitk.WriteImage(sitk.GetImageFromArray(VOLUME), str(path))
    content = bytearray(path.read_bytes())
    for offset in (148, 228, 14):
        struct.pack_into("16s", content, offset, NAME.encode())
    path.write_bytes(content)


def nifti_gz(path: Path) -> None:
    nifti(path.with_suffix(""))
    with path.open("wb") as file, gzip.GzipFile(filename=f"{NAME}.nii", mode="wb", fileobj=file) as packed:
        packed.write(path.with_suffix("").read_bytes())


@pytest.mark.parametrize(
    ("write", "ending"),
    [(png, "png"), (jpeg, "jpg"), (tiff, "tif"), (mha, "mha"), (nifti, "nii"), (nifti_gz, "nii.gz")],
)
def test_a_planted_name_is_gone(tmp_path: Path, write: Callable[[Path], None], ending: str) -> None:
    source = tmp_path / f"{NAME}.{ending}"
    write(source)
    planted = source.read_bytes() + (gzip.decompress(source.read_bytes()) if ending == "nii.gz" else b"")
    assert NAME.encode() in planted
    prepare(source, tmp_path / "prepared")
    written = sorted((tmp_path / "prepared").iterdir())
    assert written
    for path in written:
        content = path.read_bytes()
        assert NAME not in path.name
        assert NAME.encode() not in content
        if path.suffix == ".png":
            assert set(png_chunks(content)) == {b"IHDR", b"IDAT", b"IEND"}
        else:
            flags, seconds = struct.unpack_from("<BI", content, 3)
            assert (flags, seconds) == (0, 0)  # neither a file's name nor a date
            assert NAME.encode() not in gzip.decompress(content)


def png_chunks(content: bytes) -> list[bytes]:
    kinds = []
    place = 8
    while place < len(content):
        (length,) = struct.unpack_from(">I", content, place)
        kinds.append(content[place + 4 : place + 8])
        place += 12 + length
    return kinds
