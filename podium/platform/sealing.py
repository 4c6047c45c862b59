"""Sealed rows: all rows of a submission in metrics.json, readable only with the organiser's secret key.

A sealed box of libsodium (X25519, XSalsa20, Poly1305; package PyNaCl): anybody with the public key can close one, only
the secret key opens it, and not a byte of it can be changed. It holds the rows and identifies the submission and the
file they belong to, so that a box in another file is detected. No two boxes are equal: each has a key of its own.
"""

import base64
import binascii
import hashlib
import json
import os
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from podium.errors import UsageError, read_given
from podium.figures import Figures
from podium.packages import require
from podium.platform.metrics_file import CaseResult, MetricsFile

_KEY_BYTES = 32
_KEY_FILE_WORD = "podium-secret-key-1"
_MOST_BYTES = 2**30  # of the content of a box: whoever has the public key could close a bomb


class SealedContent(BaseModel):
    """The content of a box: exact `aggregates`, those that were `published`, rounded and without figures of few cases,
    and a digest of the `submission`'s files."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    challenge: str
    version: str
    settings: str  # digest
    ground_truth: str  # digest of the digest, which is the key of the pseudonyms
    submission: str
    aggregates: Mapping[str, Any]
    published: Mapping[str, Any]
    results: Sequence[CaseResult]


def seal(metrics: MetricsFile, *, published: Figures, ground_truth: bytes, submission: str, public_key: str) -> str:
    """The box of all rows and figures as text for metrics.json."""
    content = SealedContent(
        challenge=metrics.challenge,
        version=metrics.version,
        settings=_digest(metrics.settings),
        ground_truth=hashlib.sha256(b"podium sealed" + ground_truth).hexdigest(),
        submission=submission,
        aggregates=metrics.aggregates,
        published=published,
        results=metrics.results,
    )
    packed = zlib.compress(content.model_dump_json().encode(), 9)
    # How far rows with labels can be compressed tells labels: the length is a power of two.
    return closed_box(packed.ljust(1 << (len(packed) - 1).bit_length(), b"\0"), public_key)


def closed_box(plain: bytes, public_key: str) -> str:
    """Raises ValueError where nothing can be sealed for the key, as for 32 zeros."""
    require("nacl", extra="sealed")
    from nacl.exceptions import CryptoError
    from nacl.public import PublicKey, SealedBox

    try:
        box = SealedBox(PublicKey(decoded_key(public_key))).encrypt(plain)
    except CryptoError:
        raise ValueError("nothing can be sealed for this key; make one with 'podium keys new'") from None
    return base64.b64encode(box).decode("ascii")


def open_box(metrics: MetricsFile, *, secret_key: bytes, label: str) -> SealedContent:
    """The content of the box in the file `label`. Raises UsageError where the key is another one, the box was changed,
    or it belongs to another file."""
    require("nacl", extra="sealed")
    from nacl.exceptions import CryptoError
    from nacl.public import PrivateKey, SealedBox

    try:
        box = base64.b64decode(metrics.sealed or "", validate=True)
        if base64.b64encode(box).decode("ascii") != metrics.sealed:  # another spelling would hide that boxes are equal
            raise ValueError
        plain = SealedBox(PrivateKey(secret_key)).decrypt(box)
        inflater = zlib.decompressobj()
        content = SealedContent.model_validate_json(inflater.decompress(plain, _MOST_BYTES))
    except (CryptoError, binascii.Error, ValueError, zlib.error, ValidationError):
        raise UsageError(
            f"The sealed rows of {label} cannot be opened: the key is not the one they were sealed for, or the file "
            "was changed."
        ) from None
    for what, inside, outside in (
        ("another challenge", content.challenge, metrics.challenge),
        ("another version", content.version, metrics.version),
        ("other settings", content.settings, _digest(metrics.settings)),
    ):
        if inside != outside:
            raise UsageError(f"The sealed rows of {label} belong to another file: they are from {what}.")
    return content


def _digest(settings: Mapping[str, Any]) -> str:
    """A digest of the settings as plain JSON, as a file holds them."""
    text = json.dumps(settings, sort_keys=True, default=list)
    return hashlib.sha256(text.encode()).hexdigest()


# Keys.


def decoded_key(text: str) -> bytes:
    """Raises ValueError where a text is not a key."""
    try:
        key = base64.b64decode(text, validate=True)
    except binascii.Error:
        key = b""
    if len(key) != _KEY_BYTES:
        raise ValueError("a key has 32 bytes, written in base64")
    return key


def new_key(path: Path) -> str:
    """Write a new secret key, readable by its owner alone, and return the public key. Raises UsageError where the file
    exists: overwriting a key would also lose everything that was sealed for it."""
    require("nacl", extra="sealed")
    from nacl.public import PrivateKey

    key = PrivateKey.generate()
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise UsageError(f"The key cannot be written to {path}: {error.strerror}.") from None
    with os.fdopen(descriptor, "w", encoding="ascii") as stream:
        stream.write(f"{_KEY_FILE_WORD} {base64.b64encode(bytes(key)).decode('ascii')}\n")
    return base64.b64encode(bytes(key.public_key)).decode("ascii")


def read_key(path: Path) -> bytes:
    """The secret key of a file that `new_key` wrote."""
    try:
        word, _, key = read_given(path).decode("ascii").strip().partition(" ")
        if word != _KEY_FILE_WORD:
            raise ValueError
        return decoded_key(key)
    except ValueError:
        raise UsageError(f"{path} is not a secret key written by 'podium keys new'.") from None
