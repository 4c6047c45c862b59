"""From the name of a file or image to the name of its case."""

import re
import unicodedata

# Longest first, so that `.nii.gz` goes as one.
_EXTENSIONS = (
    ".nii.gz",
    ".tar.gz",
    ".tiff",
    ".hdf5",
    ".json",
    ".jpeg",
    ".mha",
    ".nii",
    ".tif",
    ".png",
    ".jpg",
    ".dcm",
    ".txt",
    ".csv",
    ".npy",
    ".npz",
    ".zip",
    ".h5",
)


_NO_PREDICTION = re.compile(r"(readme|license|changelog).*|.*\.(md|txt|log|pdf|md5|sha256)", re.IGNORECASE)


def is_ignored_file(name: str) -> bool:
    """Whether a file is one that people put beside their predictions."""
    return _NO_PREDICTION.fullmatch(name) is not None


def normalize_nfc(name: str) -> str:
    """`name` with accents as one character each: macOS writes them as two, and people cannot see the difference."""
    return unicodedata.normalize("NFC", name)


def case_of(name: str) -> str:
    """The last part of `name` less its file extension: `A003.nii.gz` -> `A003`.

    Only known extensions go: a case may well be called `1.2.840.7`.
    """
    last = normalize_nfc(name.rsplit("/", 1)[-1])
    lowered = last.lower()
    for extension in _EXTENSIONS:
        if lowered.endswith(extension) and len(last) > len(extension):
            return last[: -len(extension)]
    return last
