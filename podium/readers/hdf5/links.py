"""The way from the root of an HDF5 file to a dataset, along hard links only.

Soft links, external links and user-defined links are all resolved inside the library, the second into any file of the
container. So every component of a path is looked at before it is followed.
"""

from typing import Any

from podium.errors import Refused, h5py
from podium.readers.files import SafeFile
from podium.readers.names import escape_for_display, is_printable

MOST_NAMES_SHOWN = 10


def open_dataset(file: SafeFile, root: Any, name: str) -> Any:
    """The low-level dataset at `name` below the low-level group `root`."""
    group = root
    parts = name.split("/")
    for position, part in enumerate(parts):
        path = "/".join(parts[: position + 1])
        key = part.encode()
        if not part or not group.links.exists(key):
            raise Refused(
                f"'{file.name}' has no dataset '{escape_for_display(name)}'; it holds: {_listed(dataset_names(root))}."
            )
        link = group.links.get_info(key).type
        if link != h5py.h5l.TYPE_HARD:
            kinds = {h5py.h5l.TYPE_SOFT: "a soft link", h5py.h5l.TYPE_EXTERNAL: "an external link"}
            kind = kinds.get(link, "a user-defined link")
            raise Refused(f"'{escape_for_display(path)}' in '{file.name}' is {kind}; store the dataset itself.")
        kind_of_object = h5py.h5o.get_info(group, key).type
        if position < len(parts) - 1:
            if kind_of_object != h5py.h5o.TYPE_GROUP:
                raise Refused(f"'{escape_for_display(path)}' in '{file.name}' is not a group.")
            group = h5py.h5g.open(group, key)
    if kind_of_object != h5py.h5o.TYPE_DATASET:
        raise Refused(f"'{escape_for_display(name)}' in '{file.name}' is not a dataset.")
    return h5py.h5d.open(group, key)


def dataset_names(root: Any) -> tuple[str, ...]:
    """Names of the datasets directly below `root`, sorted; links that are not hard are left out."""
    names = []
    for key in root:
        if root.links.get_info(key).type != h5py.h5l.TYPE_HARD:
            continue
        if h5py.h5o.get_info(root, key).type == h5py.h5o.TYPE_DATASET:
            names.append(key.decode("utf-8", "surrogateescape"))
    return tuple(sorted(name for name in names if is_printable(name)))


def _listed(names: tuple[str, ...]) -> str:
    if not names:
        return "no dataset"
    text = ", ".join(escape_for_display(name) for name in names[:MOST_NAMES_SHOWN])
    return text if len(names) <= MOST_NAMES_SHOWN else f"{text} and {len(names) - MOST_NAMES_SHOWN} more"
