"""The sockets of a challenge, and the parts of a sample prediction: what is written, before it is known how."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from podium.readers.geometry import Geometry

IMAGE_SOCKETS = ("Segmentation", "Image", "Heat Map", "Displacement field")


@dataclass(frozen=True)
class Socket:
    """An input or output of an algorithm, as one creates it on the platform; `kind` is the platform's word."""

    slug: str
    kind: str
    is_input: bool = False

    @property
    def super_kind(self) -> str:
        return "Image" if self.kind in IMAGE_SOCKETS else "File" if self.kind.endswith("file") else "Value"

    @property
    def relative_path(self) -> str:
        """Where the platform puts it by default."""
        endings = {"Image": "", "Value": ".json", "File": f".{self.kind.split()[0].lower()}"}
        return f"{'images/' if self.super_kind == 'Image' else ''}{self.slug}{endings[self.super_kind]}"


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One thing that participants predict, in words for them; `files` says where in an archive."""

    title: str
    content: str
    files: str
    socket: Socket | None


@dataclass(frozen=True, eq=False)
class CaseImage:
    """Pixels, confidences or labels in numpy order; HDF5 has no geometry."""

    pixels: NDArray[Any]
    geometry: Geometry | None

    @property
    def spacing(self) -> tuple[float, ...]:
        """In array order (z, y, x) and mm; 1 for every axis where the format has none."""
        axes = self.pixels.ndim
        return (1.0,) * axes if self.geometry is None else tuple(reversed(self.geometry.spacing))[-axes:]


@dataclass(frozen=True, kw_only=True)
class Part:
    """One value of one case, and its places in files, in a table of all cases, and in a job.

    content   an image, arrays by name, or JSON
    rows      the same as rows of `table`
    pointer   its place inside a JSON file or socket; `dataset` inside an HDF5 file
    inputs    what distinguishes the job from others of its case
    """

    content: Any
    socket: Socket | None = None
    file: str | None = None
    table: str | None = None
    rows: Sequence[Mapping[str, Any]] = ()
    pointer: str = ""
    dataset: str | None = None
    inputs: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class CaseSamples:
    """The predictions that samples have for one case: the right one, then damaged ones; and broken ones, by fault."""

    answers: Sequence[Sequence[Part]]
    broken: Mapping[str, Sequence[Part]] = field(default_factory=dict)
