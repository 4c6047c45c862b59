"""The list of image formats: complete, and without two formats for one file."""

import importlib
import pkgutil

from podium.readers import formats
from podium.readers.formats import IMAGE_ENDINGS, IMAGE_FORMATS, REFUSED_ENDINGS, VOLUME_ENDINGS
from podium.readers.formats.headers import ImageFormat


def test_every_declared_format_is_listed() -> None:
    modules = [
        importlib.import_module(f"{formats.__name__}.{each.name}") for each in pkgutil.iter_modules(formats.__path__)
    ]
    declared = {value.name for module in modules for value in vars(module).values() if isinstance(value, ImageFormat)}
    assert declared == {each.name for each in IMAGE_FORMATS}
    assert len(declared) == len(IMAGE_FORMATS)


def test_an_ending_belongs_to_one_format() -> None:
    assert IMAGE_ENDINGS == (".mha", ".nii", ".nii.gz", ".tif", ".tiff", ".png")
    assert VOLUME_ENDINGS == (".mha", ".nii", ".nii.gz")
    endings = [*IMAGE_ENDINGS, *REFUSED_ENDINGS]
    assert not [(one, other) for one in endings for other in endings if one != other and one.endswith(other)]
    assert len(set(endings)) == len(endings)
