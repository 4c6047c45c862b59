"""The images of the cases: found by the names of files and folders, and prepared so that only pixels are left."""

import unicodedata
from collections.abc import Mapping
from pathlib import Path

from podium.arena.images.dicom import is_dicom_folder
from podium.arena.images.flat_pictures import prepare_picture
from podium.arena.images.meshes import MESH_ENDINGS, prepare_mesh
from podium.arena.images.prepared import PreparedImage
from podium.arena.images.volumes import prepare_volume
from podium.errors import UsageError
from podium.readers.formats import VOLUME_ENDINGS

_PICTURES = (".png", ".jpg", ".jpeg", ".tif", ".tiff")
_VOLUMES = VOLUME_ENDINGS
_ENDINGS = "png, jpg, jpeg, tif, tiff, mha, nii, nii.gz, stl, ply or obj"


def find_cases(folder: Path) -> Mapping[str, tuple[Path, ...]]:
    """The images of every case, sorted: `<case>.<ending>`, or a folder `<case>/` with one or more of them. A folder of
    DICOM files is one volume: `<case>/` itself, or folders in it.

    Hidden files are passed over; anything else that is no image is refused, since a case could go missing with it.
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


def prepare(path: Path, target: Path) -> PreparedImage:
    """Write the image as `0.png` ... into the folder `target`, which is made; a volume also as `0.u16.gz` ..., a mesh
    as `mesh.mz3.gz`."""
    target.mkdir(parents=True, exist_ok=True)
    ending = _ending(path).lower()
    if path.is_dir() or ending in _VOLUMES:
        return prepare_volume(path, target)
    return (prepare_mesh if ending in MESH_ENDINGS else prepare_picture)(path, target)


def _visible(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if not path.name.startswith("."))


def _ending(path: Path) -> str:
    """The file name extension as spelled, "" if it is not supported."""
    return next(
        (path.name[-len(e) :] for e in (*_PICTURES, *_VOLUMES, *MESH_ENDINGS) if path.name.lower().endswith(e)), ""
    )
