"""From the name of a file or image to the name of its case."""

import unicodedata

from podium.readers.formats.registry import IMAGE_ENDINGS

_OTHER_ENDINGS = (".jpeg", ".jpg", ".dcm", ".h5", ".hdf5", ".npy", ".npz", ".json", ".txt", ".csv", ".zip", ".tar.gz")
_ENDINGS = (*IMAGE_ENDINGS, *_OTHER_ENDINGS)


def normalize_nfc(name: str) -> str:
    """`name` with accents as one character each: macOS writes them as two, and people cannot see the difference."""
    return unicodedata.normalize("NFC", name)


def case_of(name: str) -> str:
    """The last part of `name` without its file ending: `A003.nii.gz` -> `A003`.

    Only known endings are removed: a case may be called `1.2.840.7`.
    """
    last = normalize_nfc(name.rsplit("/", 1)[-1])
    lowered = last.lower()
    for ending in _ENDINGS:
        if lowered.endswith(ending) and len(last) > len(ending):
            return last[: -len(ending)]
    return last
