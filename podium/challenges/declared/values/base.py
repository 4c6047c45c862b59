"""What a kind of value has to do: read both sides of a case, and say what a row keeps of them."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from podium.challenges.declared.located import Located, OpenFiles, prediction_place, reference_place
from podium.challenges.declared.value_settings import ValueSettings
from podium.challenges.format import Description
from podium.challenges.geometry import differing_geometry
from podium.errors import Refused
from podium.figures import Figures
from podium.pairing import Source
from podium.readers.images import Geometry

SettingsT = TypeVar("SettingsT", bound=ValueSettings)
PredictionT = TypeVar("PredictionT")
ReferenceT = TypeVar("ReferenceT")

BYTES_PER_FILE = 1_000_000  # headers, padding, attributes, or all of a small file


@dataclass(kw_only=True)
class Compared(Generic[PredictionT, ReferenceT]):
    """Both sides of one value of one case, read; without a usable prediction there is none.

    `cache` keeps what several metrics share, such as the distances between two surfaces.
    """

    prediction: PredictionT | None
    reference: ReferenceT
    cache: dict[Any, Any] = field(default_factory=dict)

    @property
    def is_lost(self) -> bool:
        return self.prediction is None

    @property
    def found(self) -> PredictionT:
        """The prediction of a case that is not lost."""
        assert self.prediction is not None
        return self.prediction


@dataclass(frozen=True, kw_only=True)
class ExpectedPrediction(Generic[ReferenceT]):
    """What a prediction must agree with, as far as it is known: a participant has no reference. What its author should
    know is added to `warnings`."""

    reference: ReferenceT | None = None
    shape: tuple[int, ...] | None = None
    warnings: list[str] = field(default_factory=list)


class Value(ABC, Generic[SettingsT, PredictionT, ReferenceT]):
    """One value of a challenge, under its settings."""

    def __init__(self, name: str, settings: SettingsT) -> None:
        self.name, self.settings = name, settings

    @property
    def title(self) -> str:
        return self.settings.title or self.name.replace("_", " ")

    def predicted(self, source: Source, files: OpenFiles) -> Located:
        return Located(source=source, place=prediction_place(self.settings), files=files)

    def expected(self, source: Source, files: OpenFiles) -> Located:
        return Located(source=source, place=reference_place(self.settings), files=files)

    @abstractmethod
    def read_reference(self, located: Located) -> ReferenceT:
        """The reference, checked; Refused where it is wrong."""

    @abstractmethod
    def read_prediction(self, located: Located, expected: ExpectedPrediction[ReferenceT]) -> PredictionT:
        """The prediction, checked against what it must agree with; Refused where it is wrong."""

    def shape(self, reference: ReferenceT) -> tuple[int, ...] | None:  # noqa: ARG002  (the interface)
        """The shape that a prediction must have, if it is an array."""
        return None

    def facts(self, compared: Compared[PredictionT, ReferenceT]) -> Figures | None:  # noqa: ARG002  (the interface)
        """What a row keeps of the value, so that figures of all cases can be computed again."""
        return None

    def prediction_bytes(self, shape: tuple[int, ...] | None) -> int:  # noqa: ARG002  (the interface)
        """An upper bound of what one honest prediction takes."""
        return BYTES_PER_FILE

    def describe(self, reference: ReferenceT) -> Description:  # noqa: ARG002  (the interface)
        """What `podium check` shows of a reference; names begin with the value's."""
        return Description(shapes={})

    def doubts_about_all(self, descriptions: Sequence[Description]) -> Sequence[str]:  # noqa: ARG002
        """What is implausible about the references together."""
        return ()


class HasGeometry(Protocol):
    """Settings of a value that is an image."""

    @property
    def geometry(self) -> str: ...


def compare_geometry(
    name: str, found: Geometry | None, expected: Geometry | None, settings: HasGeometry, warnings: list[str]
) -> None:
    """What a header that differs from the reference's means, as the settings say."""
    sentence = None if settings.geometry == "ignore" else differing_geometry(name, found, expected)
    if sentence is None:
        return
    if settings.geometry == "strict":
        raise Refused(sentence)
    warnings.append(sentence)


AnyValueKind = Value[Any, Any, Any]
