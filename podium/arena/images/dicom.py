"""A folder with one DICOM series, as a volume."""

from pathlib import Path

from podium.errors import SimpleITK as sitk
from podium.errors import UsageError
from podium.readers.files import quiet_stderr
from podium.readers.images import Image

_PREAMBLE = 128


def is_dicom_folder(folder: Path) -> bool:
    """All visible files are DICOM, by their ending or by the mark that stands after the preamble."""
    files = [path for path in folder.iterdir() if not path.name.startswith(".") and path.name != "DICOMDIR"]
    return bool(files) and all(path.is_file() and (path.suffix.lower() == ".dcm" or _is_marked(path)) for path in files)


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
    return Image(
        array=sitk.GetArrayFromImage(image),
        spacing=image.GetSpacing(),
        origin=image.GetOrigin(),
        direction=image.GetDirection(),
    )


def _is_marked(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(_PREAMBLE + 4)[_PREAMBLE:] == b"DICM"
