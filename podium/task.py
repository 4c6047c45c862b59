"""A challenge with its ground truth checked, ready to score any submission.

Reading a reference takes a good part of the time of a case. So what the check has read is kept for scoring, compressed,
where it is small: masks take a few kilobytes. Large references are read again, which takes hardly longer than unpacking
them would.
"""

import hashlib
import pickle
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from podium.challenges.base import AnyChallenge
from podium.challenges.format import ChallengeFolder, Shapes

_KEPT_BYTES = 256 * 1024**2  # for all cases together: each has an equal share
_LARGEST_BYTES = 16 * 1024**2  # of one case, before it is compressed


@dataclass(frozen=True, kw_only=True)
class CheckedReference:
    """What the first reading of a reference gives; `packed` is its content where that is kept."""

    shapes: Shapes
    digest: bytes
    packed: bytes | None = None


@dataclass(frozen=True, kw_only=True)
class Task:
    folder: ChallengeFolder
    challenge: AnyChallenge
    references: Mapping[str, Any]
    checked: Mapping[str, CheckedReference]

    @property
    def cases(self) -> Sequence[str]:
        return sorted(self.references)

    @property
    def shapes(self) -> Mapping[str, Shapes]:
        return {case: checked.shapes for case, checked in self.checked.items()}

    @property
    def digests(self) -> Mapping[str, bytes]:
        return {case: checked.digest for case, checked in self.checked.items()}

    @cached_property
    def digest(self) -> bytes:
        """Of all references."""
        return hashlib.sha256(b"".join(self.checked[case].digest for case in self.cases)).digest()

    def expected(self, case: str) -> Any:
        """The reference of a case, as the scorer reads it."""
        kept = self.kept(case)
        return self.challenge.scorer.read_reference(self.references[case]) if kept is None else kept

    def kept(self, case: str) -> Any:
        """The same where it was kept, else None."""
        packed = self.checked[case].packed
        return None if packed is None else pickle.loads(zlib.decompress(packed))  # noqa: S301  (of our own worker)


def check_reference(challenge: AnyChallenge, reference: Any, *, cases: int) -> CheckedReference:
    """Read and check one reference; raises Refused where it is broken. `cases` is the number of all references."""
    shapes, content = challenge.format.check_and_read(reference)
    digest = challenge.format.reference_digest(reference)
    packed = None if content is None else _packed(content, most_bytes=_KEPT_BYTES // cases)
    return CheckedReference(shapes=shapes, digest=digest, packed=packed)


def _packed(content: object, *, most_bytes: int) -> bytes | None:
    arrays: list[pickle.PickleBuffer] = []
    try:
        pickle.dumps(content, protocol=5, buffer_callback=arrays.append)  # no copy: only how large it would be
        if sum(array.raw().nbytes for array in arrays) > _LARGEST_BYTES:
            return None
        packed = zlib.compress(pickle.dumps(content, protocol=5), 1)
    except (pickle.PicklingError, TypeError, AttributeError, BufferError):  # a value of a kind that cannot be sent
        return None
    return packed if len(packed) <= most_bytes else None
