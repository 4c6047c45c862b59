"""Who computes the figures that a package of the field has too: that package, or Podium's own vectorised code.

`monai` calls MONAI and scikit-learn; `native` is 5 to 60 times faster and gives the same figures to 1e-6. Both modules
have the functions of `MetricEngine`; nothing else asks which of them it is. What a mask without a voxel means is
declared with the metric, and decided before an engine is called.
"""

from collections.abc import Collection, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast

from podium.metrics import Floats, Mask
from podium.metrics.classification import Codes, Reference
from podium.metrics.overlap import VoxelCounts
from podium.metrics.surfaces import BoundaryKind, SurfaceDistances

if TYPE_CHECKING:
    from podium.metrics.engines import monai, native

EngineName = Literal["monai", "native"]
OWN = "podium"  # the package of figures that Podium computes itself


class MaskPair(Protocol):
    """Two masks of one shape, each with a voxel, cut to what they cover."""

    @property
    def counts(self) -> VoxelCounts: ...

    def masks(self) -> tuple[Mask, Mask]:
        """Of prediction and reference."""


class SpacedPair(MaskPair, Protocol):
    """Two such masks with the size of a voxel, in the axes' order."""

    @property
    def spacing(self) -> tuple[float, ...]: ...

    def surfaces(self, *, boundary: BoundaryKind, in_mm: bool) -> SurfaceDistances:
        """The distances of the two boundaries by Podium's own code, measured once."""


class MetricEngine(Protocol):
    """What both engines offer."""

    @property
    def PACKAGES(self) -> Mapping[str, str]:  # noqa: N802  (a constant of the modules)
        """The package that computes a metric, by the metric's kind; Podium itself where there is none."""

    def import_packages(self, packages: Collection[str]) -> None:
        """Import those of the packages that are the engine's, once, before workers are forked."""

    def dice(self, pair: MaskPair) -> float: ...

    def iou(self, pair: MaskPair) -> float: ...

    def nsd(self, pair: SpacedPair, *, tolerance: float, in_mm: bool) -> float: ...

    def hausdorff(self, pair: SpacedPair, *, percentile: float) -> float:
        """The larger of the two directions' percentiles, in mm."""

    def assd(self, pair: SpacedPair) -> float: ...

    def masd(self, pair: SpacedPair) -> float: ...

    def component_dice(self, pair: MaskPair) -> float: ...

    def class_figure(
        self, metric: str, *, prediction: Codes, reference: Codes, classes: int, part: int | str | None, **options: Any
    ) -> float | None:
        """The published figure of all cases, by the metric's kind; None where the vectorised code's stands. `part` is
        a class, or the name of a mean over the classes."""

    def probability_figure(
        self, metric: str, *, prediction: Floats, reference: Reference, **options: Any
    ) -> float | None:
        """The published figure of probabilities, none of which is missing; None where the vectorised code's stands."""


def engine_named(name: EngineName) -> MetricEngine:
    """The engine; only the modules of this one are imported."""
    return cast(MetricEngine, import_module(f"{__name__}.{name}"))


if TYPE_CHECKING:
    _ENGINES: tuple[MetricEngine, ...] = (monai, native)
