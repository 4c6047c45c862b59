"""Decoders for a whole evaluation: started before any reference is read, gone when it ends."""

import logging
import math
import socket
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Literal

from podium.errors import MachineError, UsageError, require
from podium.kernel import Limits, closed_to_others, is_linux
from podium.readers.decoding import decoded_by, is_decoder_in_place
from podium.readers.files import SafeFile
from podium.readers.images import Image
from podium.readers.volumes import Volume
from podium.sandbox.lock import LANDLOCK, LAYERS, SECCOMP, available_layers
from podium.sandbox.remote import RemoteHdf5, checked_geometry, checked_volume, expected_voxels
from podium.sandbox.session import CaseDecoders, Session
from podium.sandbox.wire import EndedError, Expected, ProtocolError
from podium.sandbox.zygote import NO_LIBRARY, start_zygote

Isolation = Literal["full", "best"]
"""Whether an evaluation needs every layer, or takes those that the kernel has."""

Library = Literal["h5py", "SimpleITK"]
LIBRARIES: tuple[Library, ...] = ("h5py", "SimpleITK")
"""Each has a zygote: the fewer libraries a process has loaded, the faster it is forked."""

LOG = logging.getLogger(__name__)
_of_this_process = ExitStack()
_case: ContextVar[CaseDecoders | None] = ContextVar("case", default=None)  # another thread may be at another case
_HARMLESS = SafeFile(Path(__file__).resolve().parent, "__init__.py")
_TRIES = 5  # to start them: one may be killed by accident
_SECONDS_TO_END = 5.0
_LARGEST_PIXEL_BYTES = 8
_LABEL_TYPES = ("u1", "u2", "u4")


class Decoders:
    """The decoder that the readers pass submitted files on to; see podium/readers/decoding.py."""

    def __init__(self, controls: Mapping[Library, socket.socket]) -> None:
        # Where the zygote of a library was killed, or there is none, another one loads it.
        self._controls = {
            library: [
                *(control for each, control in controls.items() if each == library),
                *(control for each, control in controls.items() if each != library),
            ]
            for library in LIBRARIES
        }
        with Session(list(controls.values()), NO_LIBRARY, _HARMLESS, layers=()) as first:
            self.layers = first.start()

    def load(self, libraries: Collection[str]) -> None:
        """Have the zygotes load what will probably be asked for, while this process goes on."""
        for library in LIBRARIES:
            if library in libraries:
                with suppress(OSError):  # one that was killed is noticed by the first request
                    self._controls[library][0].send(library.encode())

    def session(self, file: SafeFile, library: Library = "SimpleITK") -> Session:
        """A decoder for one file, in no weaker a lock than the first one's."""
        return Session(self._controls[library], library.encode(), file, layers=self.layers, case=_case.get())

    @contextmanager
    def one_case(self) -> Iterator[None]:
        """Files that are read meanwhile share decoders; not where Landlock alone allows the first file for good."""
        if SECCOMP not in self.layers:
            yield
            return
        case = CaseDecoders()
        token = _case.set(case)
        try:
            yield
        finally:
            _case.reset(token)
            case.end()

    def read_image(self, file: SafeFile, *, shape: tuple[int, ...] | None, max_bytes: int) -> Image:
        _require("SimpleITK")
        expected = _pixels(shape, max_bytes, axes=(2, 3))
        with self.session(file) as session:
            answer = session.ask("image", expected=expected, shape=shape, max_bytes=max_bytes)
            try:
                if answer.array is None:
                    raise ProtocolError("no pixels")
                geometry = checked_geometry(answer.value, axes=answer.array.ndim)
            except ProtocolError as lie:
                raise session.refusal(f"the decoder sent {lie}") from None
        return Image(answer.array, geometry.spacing, geometry.origin, geometry.direction)

    def read_volume(
        self, file: SafeFile, *, shape: tuple[int, ...] | None, max_bytes: int, binary: bool, as_voxels: bool
    ) -> Volume:
        _require("SimpleITK")
        every_place = _pixels(shape, max_bytes, axes=(3,), types=("u1",) if binary else _LABEL_TYPES)
        expected = replace(every_place, alternative=expected_voxels(binary=binary)) if as_voxels else every_place
        options = {"shape": shape, "max_bytes": max_bytes, "binary": binary, "as_voxels": as_voxels}
        with self.session(file) as session:
            answer = session.ask("volume", expected=expected, **options)
            try:
                return checked_volume(answer, shape=shape, max_bytes=max_bytes, binary=binary, as_voxels=as_voxels)
            except ProtocolError as lie:
                raise session.refusal(f"the decoder sent {lie}") from None

    @contextmanager
    def open_hdf5(self, file: SafeFile, *, max_bytes: int) -> Iterator[RemoteHdf5]:
        _require("h5py")
        with self.session(file, "h5py") as session:
            yield RemoteHdf5(session, max_bytes)


@cache
def _require(package: str) -> None:
    """Said here: a decoder cannot stop the run."""
    require(package, extra="score")


def _pixels(
    shape: tuple[int, ...] | None, max_bytes: int, *, axes: Sequence[int], types: Sequence[str] | None = None
) -> Expected:
    """`max_bytes` are counted in the file, where a pixel may have one byte and be a float of eight once read."""
    pixels = max_bytes if shape is None else math.prod(shape)
    return Expected(shape=shape, axes=axes, types=types, max_bytes=pixels * _LARGEST_PIXEL_BYTES)


@contextmanager
def decoders(
    isolation: Isolation = "best",
    limits: Limits | None = None,
    *,
    libraries: Collection[str] = LIBRARIES,
    logged: bool = True,
    meanwhile: Callable[[], None] = lambda: None,
) -> Iterator[Decoders | None]:
    """Have submitted files decoded in locked-in processes while the context lasts. `libraries` are those that will
    probably be asked for. Where it is `logged`, the log says once which layers are in force. `meanwhile` is done while
    the processes start. None where the system has no such processes at all.
    """
    if not is_linux():
        meanwhile()
        _judge((), isolation, logged=logged)
        yield None
        return
    with started(limits or Limits(), libraries=libraries, meanwhile=meanwhile) as found:
        _judge(found.layers, isolation, logged=logged)
        with decoded_by(found):
            yield found


def ensure_decoders(*libraries: str) -> None:
    """Have submitted files decoded in locked-in processes while this process lives, unless they are already."""
    if not is_decoder_in_place():
        _of_this_process.enter_context(decoders(libraries=libraries))


@contextmanager
def started(
    limits: Limits, *, libraries: Collection[str] = LIBRARIES, meanwhile: Callable[[], None] = lambda: None
) -> Iterator[Decoders]:
    """Decoders that no reader passes files on to yet."""
    for _ in range(_TRIES):
        with ExitStack() as stack:
            wanted = [library for library in LIBRARIES if library in libraries] or LIBRARIES[:1]
            controls = {library: stack.enter_context(_zygote(limits)) for library in wanted}
            stack.enter_context(closed_to_others())
            meanwhile()
            try:
                found = Decoders(controls)
            except (EndedError, MachineError):  # killed before there was a spare
                continue
            found.load(libraries)
            yield found
            return
    raise MachineError("The processes that read submitted files end as soon as they are started.")


@contextmanager
def _zygote(limits: Limits) -> Iterator[socket.socket]:
    process, control = start_zygote(available_layers(), limits)
    try:
        yield control
    finally:
        with control, suppress(OSError):
            control.shutdown(socket.SHUT_WR)  # the zygote ends by itself, and so do its spares
            control.settimeout(_SECONDS_TO_END)
            control.recv(1)  # nothing, once all who served this socket have ended
        process.kill()
        process.wait()


def _judge(layers: Sequence[str], isolation: Isolation, *, logged: bool) -> None:
    missing = [layer for layer in LAYERS if layer not in layers]
    if logged:
        _log(layers, missing)
    if isolation == "full" and missing:
        raise UsageError(f"This system cannot isolate the readers in full: it has no {', no '.join(missing)}.")


def _log(layers: Sequence[str], missing: Sequence[str]) -> None:
    LOG.info("isolation: submitted files are decoded under %s", ", ".join(layers) or "no restriction")
    if missing:
        LOG.info("isolation: this system has no %s", ", no ".join(missing))
    if {LANDLOCK, SECCOMP} <= set(missing):
        LOG.info("isolation: code that took over a reader could read the references here")
