"""The images of the cases: found by the names of files and folders, and prepared so that only pixels are left."""

import gzip
import io
import math
import struct
import unicodedata
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image as PilImage
from PIL import ImageCms, ImageOps, TiffImagePlugin

from podium.errors import Refused, UsageError
from podium.metrics import Floats
from podium.packages import SimpleITK as sitk
from podium.packages import require
from podium.readers.files import SafeFile, quiet_stderr
from podium.readers.formats import VOLUME_ENDINGS
from podium.readers.geometry import lps_turn, turned
from podium.readers.images import Image, geometry_of, read_image
from podium.tools.arena.store import MESH_FILE, VOLUME_FILE, MeshPart, Picture
from podium.tools.report.png import png_file

try:
    from isal import isal_zlib
except ImportError:  # it has no wheel for this machine
    isal_zlib = None  # type: ignore[assignment]

_PICTURES = (".png", ".jpg", ".jpeg", ".tif", ".tiff")
MESH_ENDINGS = (".stl", ".ply", ".obj")
_ENDINGS = "png, jpg, jpeg, tif, tiff, mha, nii, nii.gz, stl, ply or obj"

_FORMATS = ("PNG", "JPEG", "TIFF")
_SUBFILE, _PHOTOMETRIC = 254, 262  # TIFF tags
_THUMBNAIL_OR_MASK = 0b101

VIEWS = 24  # of a mesh
_SIZE = 400  # of a view, in pixels
_POINTS = 400_000  # drawn per view
_ELEVATION = math.radians(35)
_MOST_BYTES = 1 << 30
_MAGIC, _FACES, _VERTICES, _COLOURS = 23117, 1, 2, 4  # of the format mz3

_DICOM_PREAMBLE = 128
HIGHEST_CODE = 65535
DARKEST_SHARE, BRIGHTEST_SHARE = 0.005, 0.995  # metal and air would take most grey levels
_LOOKED_UP_BYTES = 2
Codes = NDArray[np.uint16]

_PNG_COMPRESSION = 4  # 6 takes a third more time and saves a hundredth
_ISAL_LEVEL = 3
_ZLIB_LEVEL = 2  # higher levels make noise no smaller
_GZIP = 31  # zlib's window code


def find_cases(folder: Path) -> Mapping[str, tuple[Path, ...]]:
    """The images of every case, sorted: `<case>.<ending>`, or a folder `<case>/` with one or more of them. A folder of
    DICOM files is one volume: `<case>/` itself, or folders in it.

    Hidden files are ignored; anything else that is not an image is refused, since a case could go missing with it.
    """
    if not folder.is_dir():
        raise UsageError(f"There is no folder {folder} with the images of the cases.")
    cases: dict[str, tuple[Path, ...]] = {}
    claims: dict[str, Path] = {}
    for path in _visible(folder):
        if path.is_dir():
            case, images = path.name, ((path,) if is_dicom_folder(path) else tuple(_visible(path)))
            if not images:
                raise UsageError(f"The folder {path} contains no image of its case.")
        else:
            case, images = path.name.removesuffix(_ending(path)), (path,)
        for image in images:
            if image.is_dir() and is_dicom_folder(image):
                continue
            if not case or not _ending(image) or not image.is_file():
                raise UsageError(f"{image} is not an image of a case; these are named <case>.{_ENDINGS}.")
        # Reports are matched without regard to upper and lower case, so these would be one case there.
        other = claims.setdefault(unicodedata.normalize("NFC", case).casefold(), path)
        if other != path:
            raise UsageError(f"{other} and {path} are both the case '{case}'; put its images into one folder.")
        cases[case] = images
    if not cases:
        raise UsageError(f"The folder {folder} contains no case images.")
    return cases


def prepare(path: Path, target: Path) -> Picture:
    """Write the image as `0.png` ... into the new folder `target`, whose name is the key; a volume also as
    `volume.u16.gz`, a mesh as `mesh.mz3.gz`."""
    target.mkdir(parents=True, exist_ok=True)
    ending = _ending(path).lower()
    if path.is_dir() or ending in VOLUME_ENDINGS:
        return prepare_volume(path, target)
    return (prepare_mesh if ending in MESH_ENDINGS else prepare_picture)(path, target)


def _visible(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if not path.name.startswith("."))


def _ending(path: Path) -> str:
    """The file name extension as spelled, "" if it is not supported."""
    return next(
        (path.name[-len(e) :] for e in (*_PICTURES, *VOLUME_ENDINGS, *MESH_ENDINGS) if path.name.lower().endswith(e)),
        "",
    )


# Photographs, radiographs and scanned paper: PNG, JPEG and TIFF as plain 8-bit pixels.


def prepare_picture(path: Path, target: Path) -> Picture:
    """Write the picture, or every page of a TIFF, into the folder `target`."""
    sizes: list[tuple[int, ...]] = []
    with _as_usage_errors(path):
        picture = PilImage.open(path, formats=_FORMATS)
    with picture:
        # Other formats keep previews or films in further frames.
        frames = picture.n_frames if isinstance(picture, TiffImagePlugin.TiffImageFile) else 1
        for number in range(frames):
            with _as_usage_errors(path):
                picture.seek(number)
                if number and _tag(picture, _SUBFILE) & _THUMBNAIL_OR_MASK:
                    continue
                pixels = _pixels(picture)
            write_png(pixels, target / f"{len(sizes)}.png")
            sizes.append(pixels.shape[:2])
    if len(set(sizes)) > 1:
        raise UsageError(f"'{path.name}' has pages of different sizes; save each as a separate picture.")
    height, width = sizes[0]
    return Picture(key=target.name, is_volume=False, slices=len(sizes), width=width, height=height)


@contextmanager
def _as_usage_errors(path: Path) -> Iterator[None]:
    """Pillow's errors as one sentence; its warnings about metadata do not matter, since metadata is discarded."""
    with warnings.catch_warnings(), quiet_stderr():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", PilImage.DecompressionBombWarning)
        try:
            yield
        except (PilImage.DecompressionBombWarning, PilImage.DecompressionBombError):
            most = f"{PilImage.MAX_IMAGE_PIXELS:,}"
            raise UsageError(f"'{path.name}' has more than {most} pixels; save it smaller.") from None
        except (OSError, SyntaxError, ValueError, EOFError):
            raise UsageError(f"'{path.name}' cannot be read as a PNG, JPEG or TIFF picture.") from None


def _tag(picture: PilImage.Image, tag: int, *, absent: int = 0) -> int:
    return int(picture.tag_v2.get(tag, absent)) if isinstance(picture, TiffImagePlugin.TiffImageFile) else absent


def _pixels(picture: PilImage.Image) -> NDArray[np.uint8]:
    """Upright, grey or RGB in sRGB, 8 bit."""
    profile = picture.info.get("icc_profile")
    white_is_zero = _tag(picture, _PHOTOMETRIC, absent=1) == 0
    upright = ImageOps.exif_transpose(picture)
    if upright.mode.startswith("I") or upright.mode == "F":
        values = np.asarray(upright)
        span = ValueRange.over([values])
        if span is None:
            raise ValueError("No value is finite.")
        greys = stretched(values, span)  # every detector uses its own part of the range
        return 255 - greys if white_is_zero else greys  # up to 8 bit Pillow does it
    return np.asarray(_in_srgb(_flattened(upright), profile))


def _flattened(picture: PilImage.Image) -> PilImage.Image:
    """As L, RGB or CMYK, on a black background where transparent."""
    if picture.has_transparency_data:
        black = PilImage.new("RGBA", picture.size, (0, 0, 0, 255))
        flat = PilImage.alpha_composite(black, picture.convert("RGBA")).convert("RGB")
        return flat.convert("L") if picture.mode in ("1", "L", "LA") else flat
    if picture.mode in ("L", "RGB", "CMYK"):
        return picture
    return picture.convert("L" if picture.mode == "1" else "RGB")


def _in_srgb(picture: PilImage.Image, profile: bytes | None) -> PilImage.Image:
    """By the embedded profile, which is ignored if it is damaged or made for other colours."""
    shown_as = "L" if picture.mode == "L" else "RGB"
    if profile:
        try:
            embedded = ImageCms.ImageCmsProfile(io.BytesIO(profile))
            srgb = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB"))
            picture = ImageCms.profileToProfile(picture, embedded, srgb, outputMode="RGB") or picture
        except (ImageCms.PyCMSError, OSError):
            pass
    return picture.convert(shown_as)


# Intra-oral scans: STL, PLY and OBJ as one plain mesh, and as pictures from all sides for browsers without WebGL2.


def prepare_mesh(path: Path, target: Path) -> Picture:
    """Write `mesh.mz3.gz` and the views into the folder `target`: corners, triangles and colours, and nothing else."""
    vertices, faces, colours = _read_mesh(path)
    # NiiVue's own format: a header of 16 bytes, triangles, corners and their colours.
    kind = _FACES | _VERTICES | (0 if colours is None else _COLOURS)
    content = struct.pack("<HHIII", _MAGIC, kind, len(faces), len(vertices), 0)
    content += faces.astype("<i4").tobytes() + vertices.astype("<f4").tobytes()
    content += b"" if colours is None else colours.tobytes()
    (target / MESH_FILE).write_bytes(gzip.compress(content, 6, mtime=0))
    points, shades = _surface(vertices, faces)
    for view in range(VIEWS):
        write_png(draw_view(points, shades, 2 * math.pi * view / VIEWS), target / f"{view}.png")
    return Picture(
        key=target.name, is_volume=False, slices=VIEWS, width=_SIZE, height=_SIZE, mesh_part=part_of(path.name)
    )


def part_of(name: str) -> MeshPart:
    """Which jaw, by the words of a file name."""
    lower = name.lower()
    if any(word in lower for word in ("upper", "maxill")):
        return "upper"
    return "lower" if any(word in lower for word in ("lower", "mandib")) else "scan"


def _read_mesh(path: Path) -> tuple[Floats, NDArray[np.int64], NDArray[np.uint8] | None]:
    """Read from memory, so that a file cannot name others; without materials for the same reason."""
    require("trimesh", extra="arena")
    import trimesh  # only `init` needs it

    problem = UsageError(f"'{path.name}' cannot be read as an STL, PLY or OBJ mesh.")
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise UsageError(f"'{path.name}' is larger than {_MOST_BYTES:,} bytes.")
        with path.open("rb") as file, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            mesh: Any = trimesh.load(
                file, file_type=path.suffix[1:].lower(), force="mesh", process=False, skip_materials=True
            )
        vertices, faces = np.asarray(mesh.vertices, dtype=np.float64), np.asarray(mesh.faces, dtype=np.int64)
    except UsageError:
        raise
    except Exception:  # a parser of untrusted files may raise anything
        raise problem from None
    has_triangles = vertices.ndim == faces.ndim == 2 and len(vertices) > 2 and len(faces) > 0
    if not has_triangles or not np.isfinite(vertices).all() or faces.min() < 0 or faces.max() >= len(vertices):
        raise problem
    colours = mesh.visual.vertex_colors if getattr(mesh.visual, "kind", None) == "vertex" else None
    return vertices, faces, None if colours is None else np.asarray(colours, dtype=np.uint8)


def _surface(vertices: Floats, faces: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Points spread evenly over the triangles, centred and scaled into a unit ball, and the normals there, as three
    rows: the product of a narrow matrix would wait for the threads of a library."""
    corners = vertices[faces]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    areas = np.linalg.norm(normals, axis=1)
    if not areas.sum():
        raise UsageError("A mesh without any surface cannot be shown.")
    random = np.random.default_rng(0)
    drawn = random.choice(len(faces), size=_POINTS, p=areas / areas.sum())
    first, second = random.random((2, _POINTS, 1))
    outside = first + second > 1
    first, second = np.where(outside, 1 - first, first), np.where(outside, 1 - second, second)
    of_drawn = corners[drawn]
    points = of_drawn[:, 0] + first * (of_drawn[:, 1] - of_drawn[:, 0]) + second * (of_drawn[:, 2] - of_drawn[:, 0])
    middle = (vertices.min(axis=0) + vertices.max(axis=0)) / 2
    radius = np.linalg.norm(vertices - middle, axis=1).max()
    return np.ascontiguousarray(((points - middle) / radius).T), np.ascontiguousarray(
        (normals[drawn] / areas[drawn, None]).T
    )


def draw_view(points: Floats, normals: Floats, azimuth: float) -> NDArray[np.uint8]:
    """The surface as seen from `azimuth` (radians) around z and from a little above, lit from the viewer."""
    along = np.array([[math.cos(azimuth), math.sin(azimuth), 0], [-math.sin(azimuth), math.cos(azimuth), 0], [0, 0, 1]])
    tilt = np.array(
        [[1, 0, 0], [0, math.cos(_ELEVATION), math.sin(_ELEVATION)], [0, -math.sin(_ELEVATION), math.cos(_ELEVATION)]]
    )
    turn = tilt @ along
    seen, facing = np.einsum("ij,jn->in", turn, points), np.abs(np.einsum("j,jn->n", turn[1], normals))
    columns, rows = ((_SIZE - 1) * (0.5 + 0.48 * sign * seen[axis]) for sign, axis in ((1, 0), (-1, 2)))
    nearness = (0x7FFFFF * (1 - seen[1]) / 2).astype(np.uint32)  # all points are in the unit ball
    shades = (40 + 215 * facing).astype(np.uint32)
    picture = np.zeros(_SIZE * _SIZE, dtype=np.uint32)
    place = rows.astype(np.intp) * _SIZE + columns.astype(np.intp)
    np.maximum.at(picture, place, nearness << 8 | shades)  # of all points on a pixel the nearest, without sorting
    return (picture & 0xFF).astype(np.uint8).reshape(_SIZE, _SIZE)


# Volumes as axial slices: the patient's right on the left, the front at the top, from the lowest slice upwards.


def prepare_volume(path: Path, target: Path) -> Picture:
    """Write the slices of a 3-D scalar image, or the one picture of a 2-D image, into the folder `target`."""
    require("SimpleITK", extra="arena,volumes")
    if path.is_dir():
        image = read_dicom(path)
    else:
        real = path.resolve()
        try:  # with the checks for submitted images: a truncated file must not be shown as half black
            image = read_image(SafeFile.inside(real.parent, real.name))
        except Refused as refusal:
            raise UsageError(f"A case's image cannot be used: {refusal}") from None
    span = ValueRange.over(image.array)
    if span is None:
        raise UsageError(f"'{path.name}' contains no finite values that could be shown.")
    if image.array.ndim == 2:
        write_png(image.array if image.array.dtype == np.uint8 else stretched(image.array, span), target / "0.png")
        return Picture(
            key=target.name, is_volume=False, slices=1, width=image.array.shape[1], height=image.array.shape[0]
        )
    volume, (columns_mm, rows_mm, slices_mm) = axial(image)

    # Codes are computed twice, so that beside the volume only a few slices are in memory.
    coded = span.coder(volume.dtype)
    with ThreadPoolExecutor() as threads:  # numpy and the packers release the GIL
        counts = sum(
            threads.map(lambda values: np.bincount(coded(values).reshape(-1), minlength=HIGHEST_CODE + 1), volume),
            np.zeros(1, np.int64),
        )
        darkest, brightest = first_window(counts)
        greys = grey_levels(darkest, brightest)

        def write(number: int) -> None:
            (target / f"{number}.png").write_bytes(png_file(greys[coded(volume[number])], compress=zlib_stream))

        raw = (coded(values).astype("<u2", copy=False).tobytes() for values in volume)
        bundled = threads.submit(write_gzip, target / VOLUME_FILE, raw)
        list(threads.map(write, range(len(volume))))
        bundled.result()
    return Picture(
        key=target.name,
        is_volume=True,
        slices=volume.shape[0],
        width=volume.shape[2],
        height=volume.shape[1],
        pixel_aspect=rows_mm / columns_mm,
        pixel_mm=columns_mm,
        slice_mm=slices_mm,
        value_low=span.low,
        value_high=span.high,
        window_low=span.value(darkest),
        window_high=span.value(brightest),
    )


def axial(image: Image) -> tuple[NDArray[Any], tuple[float, float, float]]:
    """A view of the volume turned to LPS (slices, rows, columns), never resampled, and the spacing of columns, rows and
    slices in mm."""
    turn = lps_turn(image.geometry)
    slices_mm, rows_mm, columns_mm = (float(image.geometry.spacing[2 - axis]) for axis, _ in turn)
    return turned(image.array, turn), (columns_mm, rows_mm, slices_mm)


# A folder with one DICOM series, as a volume.


def is_dicom_folder(folder: Path) -> bool:
    """All visible files are DICOM, by their ending or by the marker after the preamble."""

    def is_marked(path: Path) -> bool:
        with path.open("rb") as file:
            return file.read(_DICOM_PREAMBLE + 4)[_DICOM_PREAMBLE:] == b"DICM"

    files = [path for path in folder.iterdir() if not path.name.startswith(".") and path.name != "DICOMDIR"]
    return bool(files) and all(path.is_file() and (path.suffix.lower() == ".dcm" or is_marked(path)) for path in files)


def read_dicom(folder: Path) -> Image:
    """The slices of the only series in `folder`, in the order of their positions."""
    try:
        with quiet_stderr():
            series = sitk.ImageSeriesReader.GetGDCMSeriesIDs(str(folder))
            if len(series) != 1:
                raise UsageError(f"The folder {folder} holds {len(series)} DICOM series; put one into each folder.")
            reader = sitk.ImageSeriesReader()
            reader.SetFileNames(sitk.ImageSeriesReader.GetGDCMSeriesFileNames(str(folder), series[0]))
            image = reader.Execute()
    except RuntimeError:
        raise UsageError(f"The DICOM files in {folder} cannot be read as one volume.") from None
    if image.GetNumberOfComponentsPerPixel() != 1:
        raise UsageError(f"The DICOM files in {folder} are colour pictures, not slices of a volume.")
    return Image(sitk.GetArrayFromImage(image), geometry_of(image))


# Measured values as 16-bit codes for the viewer, and the window in which they are first shown.


@dataclass(frozen=True)
class ValueRange:
    """The smallest and the largest finite value: codes 0 and 65535."""

    low: float
    high: float

    @classmethod
    def over(cls, slices: Iterable[NDArray[Any]]) -> "ValueRange | None":
        """None if no value is finite, or if they are too far apart to be subtracted."""
        low, high = np.inf, -np.inf
        for values in slices:
            ends = float(values.min()), float(values.max())
            if not np.isfinite(ends).all():
                finite = values[np.isfinite(values)]
                ends = (float(finite.min()), float(finite.max())) if finite.size else (np.inf, -np.inf)
            low, high = min(low, ends[0]), max(high, ends[1])
        if not np.isfinite(high - low):
            return None
        return cls(low, high if high > low else low + 1)

    def codes(self, values: NDArray[Any]) -> Codes:
        """NaN counts as the lowest value, an infinite one as the nearest end of the range."""
        shares = values.astype(np.float64)
        if not np.isfinite(shares).all():
            np.nan_to_num(shares, copy=False, nan=self.low, neginf=self.low, posinf=self.high)
        shares -= self.low
        shares /= self.high - self.low
        shares *= HIGHEST_CODE
        return np.rint(shares, out=shares).astype(np.uint16)

    def coder(self, dtype: np.dtype[Any]) -> Callable[[NDArray[Any]], Codes]:
        """`codes` for values of this type; the codes of small integers are looked up."""
        if dtype.kind not in "iu" or dtype.itemsize > _LOOKED_UP_BYTES:
            return self.codes
        unsigned = np.dtype(f"u{dtype.itemsize}")
        every = np.arange(np.iinfo(unsigned).max + 1).astype(unsigned).view(dtype)
        table = self.codes(np.clip(every.astype(np.float64), self.low, self.high))
        return lambda values: table[values.view(unsigned)]

    def value(self, code: int) -> float:
        return self.low + (self.high - self.low) * code / HIGHEST_CODE


def grey_levels(darkest: int, brightest: int) -> NDArray[np.uint8]:
    """The grey of every code: black up to `darkest`, white from `brightest` on."""
    share = (np.arange(HIGHEST_CODE + 1) - darkest) / (brightest - darkest)
    return np.asarray(np.rint(np.clip(share, 0, 1) * 255), dtype=np.uint8)


def first_window(counts: NDArray[np.int64]) -> tuple[int, int]:
    """The darkest and the brightest code: the 0.5th and the 99.5th percentile; the whole range where these coincide."""
    up_to = np.cumsum(counts)
    darkest, brightest = (int(np.searchsorted(up_to, share * up_to[-1])) for share in (DARKEST_SHARE, BRIGHTEST_SHARE))
    return (darkest, brightest) if darkest < brightest else (0, HIGHEST_CODE)


def stretched(values: NDArray[Any], span: ValueRange) -> NDArray[np.uint8]:
    """One picture in its first window."""
    codes = span.codes(values)
    return grey_levels(*first_window(np.bincount(codes.reshape(-1), minlength=HIGHEST_CODE + 1)))[codes]


# Files. Slices are packed once and by the hundred: ISA-L takes a quarter of zlib's time for a fifteenth more bytes.
def zlib_stream(data: bytes) -> bytes:
    return zlib.compress(data, _ZLIB_LEVEL) if isal_zlib is None else isal_zlib.compress(data, _ISAL_LEVEL)


def write_gzip(path: Path, parts: Iterable[bytes]) -> None:
    """All parts as one stream, without a name or a date."""
    library, level = (zlib, _ZLIB_LEVEL) if isal_zlib is None else (isal_zlib, _ISAL_LEVEL)
    packer = library.compressobj(level, zlib.DEFLATED, _GZIP)
    with path.open("wb") as file:
        file.writelines(map(packer.compress, parts))
        file.write(packer.flush())


def write_png(pixels: NDArray[np.uint8], path: Path) -> None:
    """An 8-bit PNG, grey (rows, columns) or RGB (rows, columns, 3): a fresh image carries no text, profile or date."""
    PilImage.fromarray(pixels).save(path, "PNG", compress_level=_PNG_COMPRESSION)
