"""From the name of a file or image to the name of its case."""

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


def case_of(name: str) -> str:
    """The last part of `name` less its file extension: `A003.nii.gz` -> `A003`.

    Only known extensions go: a case may well be called `1.2.840.7`.
    """
    last = name.rsplit("/", 1)[-1]
    lowered = last.lower()
    for extension in _EXTENSIONS:
        if lowered.endswith(extension) and len(last) > len(extension):
            return last[: -len(extension)]
    return last
