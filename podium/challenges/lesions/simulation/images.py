"""Whom to simulate: PET/CT images in nnU-Net's naming, each with its reference."""

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from podium.errors import UsageError
from podium.platform.jobs import case_of
from podium.readers.files import SafeFile
from podium.readers.formats import VOLUME_ENDINGS

CHANNELS = {"ct": "_0000", "pet": "_0001"}


@dataclass(frozen=True)
class ImageCase:
    """One case's files; `number` is its index among the sorted names, which deals the strategies."""

    name: str
    number: int
    ct: Path
    pet: Path
    reference: SafeFile


def find_cases(images: Path, references: Path) -> list[ImageCase]:
    """Every case with a reference; its images are `<case>_0000` (CT) and `<case>_0001` (PET)."""
    for folder, option in ((images, "--images"), (references, "--references")):
        if not folder.is_dir():
            raise UsageError(f"{option}: there is no folder '{folder}'.")
    files = sorted(path for path in references.iterdir() if path.name.endswith(VOLUME_ENDINGS))
    if not files:
        raise UsageError(f"--references: '{references}' holds no <case>.nii.gz or <case>.mha.")
    names = sorted(case_of(path.name) for path in files)
    if len(set(names)) != len(names):
        twice = next(name for name, after in pairwise(names) if name == after)
        raise UsageError(f"--references: there are two references of '{twice}'.")
    by_name = {case_of(path.name): path for path in files}
    return [
        ImageCase(
            name=name,
            number=number,
            ct=_channel(images, name, "ct"),
            pet=_channel(images, name, "pet"),
            reference=SafeFile.inside(references, by_name[name].name, trusted=True),
        )
        for number, name in enumerate(names)
    ]


def _channel(images: Path, case: str, channel: str) -> Path:
    stem = case + CHANNELS[channel]
    found = [images / f"{stem}{ending}" for ending in VOLUME_ENDINGS if (images / f"{stem}{ending}").is_file()]
    if len(found) != 1:
        problem = "no" if not found else "more than one"
        raise UsageError(f"--images: there is {problem} {channel.upper()} of '{case}' ({stem}.nii.gz or .mha).")
    return found[0]
