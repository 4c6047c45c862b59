"""The side that asks: decoders for a whole evaluation, started before any reference is read and gone when it ends.

Readers pass submitted files on to `Decoders`. For every file it opens a `Session` with a decoder, which is asked but
not believed: every answer is checked before it is used. Of an HDF5 file (`RemoteHdf5`) small datasets come back as
arrays; of large fields the decoder only says where their chunks are.
"""

import logging
import math
import os
import resource
import socket
import subprocess
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from podium.errors import MachineError, ReaderDied, Refused, UsageError, require
from podium.kernel import Limits, closed_to_others, is_linux, signals_blocked
from podium.readers.files import SafeFile, decoded_by, escape_for_display, is_decoder_installed
from podium.readers.frames import FieldShape, FrameStream
from podium.readers.hdf5 import MAX_DATASET_BYTES
from podium.readers.hdf5_frames import UNPACKED_HERE, Cells, ChunkTable, FieldPlace, stream_field
from podium.readers.hdf5_storage import MAX_CHUNKS, most_stored_bytes
from podium.readers.images import Geometry, Image
from podium.readers.volumes import FEW_VOXELS, LARGEST_LABEL, Volume, Voxels
from podium.sandbox.lock import LANDLOCK, LAYERS, OPENED, SECCOMP, available_layers
from podium.sandbox.wire import (
    INLINE_BYTES,
    PLACE_FROM_BIT,
    EndedError,
    Expected,
    ProtocolError,
    SharedArray,
    checked_shape,
    number_type,
    receive,
    receive_small_array,
    send,
)
from podium.sandbox.zygote import NO_LIBRARY

Isolation = Literal["full", "best"]
"""Whether an evaluation needs every layer, or takes those that the kernel has."""

Library = Literal["h5py", "SimpleITK"]
LIBRARIES: tuple[Library, ...] = ("h5py", "SimpleITK")
"""Each has a zygote: the fewer libraries a process has loaded, the faster it is forked."""

LOG = logging.getLogger(__name__)
_STARTS = 20  # tries to start the zygotes: on a busy machine several may be killed before they have a spare
_TRIES = 2  # to read a file: memory may have run out because of another case
_SECONDS_TO_START = 60.0
_SECONDS_TO_END = 5.0
_FEWEST_OPEN_FILES = 128  # zygotes give descriptors numbers above 64 for a moment
_LARGEST_PIXEL_BYTES = 8
_LABEL_TYPES = ("u1", "u2", "u4")
_TABLE_COLUMNS = 6
_LONGEST_SENTENCE = 2000
_LONGEST_DETAIL = 4000
_LONGEST_FAULT_NAME = 60
_NEEDED_VARIABLES = ("PATH", "LD_LIBRARY_PATH", "TZ")
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}  # threads would not survive a fork
_HARMLESS = SafeFile(Path(__file__).resolve().parent, "__init__.py")

_of_this_process = ExitStack()
_case: ContextVar["CaseDecoders | None"] = ContextVar("case", default=None)  # another thread may be at another case


@contextmanager
def decoders(
    isolation: Isolation = "best",
    limits: Limits | None = None,
    *,
    libraries: Collection[str] = LIBRARIES,
    logged: bool = True,
    meanwhile: Callable[[], None] = lambda: None,
) -> Iterator["Decoders | None"]:
    """Decode submitted files in locked-in processes while the context lasts; None where the system has none.

    `libraries` are those that will probably be needed. Where it is `logged`, the log says once which layers are in
    force. `meanwhile` is called while the processes start.
    """
    if not is_linux():
        meanwhile()
        _check_isolation((), isolation, logged=logged)
        yield None
        return
    with started(limits or Limits(), libraries=libraries, meanwhile=meanwhile) as found:
        _check_isolation(found.layers, isolation, logged=logged)
        with decoded_by(found):
            yield found


def ensure_decoders(*libraries: str) -> None:
    """Decode submitted files in locked-in processes while this process lives, unless they are already."""
    if not is_decoder_installed():
        _of_this_process.enter_context(decoders(libraries=libraries))


@contextmanager
def started(
    limits: Limits, *, libraries: Collection[str] = LIBRARIES, meanwhile: Callable[[], None] = lambda: None
) -> Iterator["Decoders"]:
    """Decoders that readers do not pass files on to yet."""
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most != resource.RLIM_INFINITY and most < _FEWEST_OPEN_FILES:
        raise MachineError(
            f"This process may open only {most} files at once, and Podium needs {_FEWEST_OPEN_FILES}: raise the limit, "
            "as with 'ulimit -n 1024'."
        )
    for _ in range(_STARTS):
        with ExitStack() as stack:
            wanted = [library for library in LIBRARIES if library in libraries] or LIBRARIES[:1]
            controls = {library: stack.enter_context(_zygote(limits)) for library in wanted}
            stack.enter_context(closed_to_others())
            meanwhile()
            try:
                found = Decoders(controls)
            except TimeoutError:
                raise MachineError("The processes that read submitted files do not start; are they stopped?") from None
            except (EndedError, MachineError):  # killed before there was a spare
                continue
            found.load(libraries)
            yield found
            return
    raise MachineError("The processes that read submitted files end as soon as they are started.")


@contextmanager
def _zygote(limits: Limits) -> Iterator[socket.socket]:
    """A zygote while the context lasts: the socket for requests to it."""
    control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs, signals_blocked():
        process = subprocess.Popen(  # noqa: S603  (nothing of a submission is in it)
            [sys.executable, "-ISX", "utf8", "-c", program(theirs.fileno(), available_layers(), limits)],
            env={name: os.environ[name] for name in _NEEDED_VARIABLES if name in os.environ} | _ONE_THREAD,
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    try:
        yield control
    finally:
        with control, suppress(OSError):
            control.shutdown(socket.SHUT_WR)  # the zygote ends by itself, and so do its spares
            control.settimeout(_SECONDS_TO_END)
            control.recv(1)  # nothing, once all who served this socket have ended
        process.kill()
        process.wait()


def program(control: int, layers: Sequence[str], limits: Limits) -> str:
    """What a zygote runs."""
    found_at = [str(Path(__file__).resolve().parents[2]), *filter(None, sys.path)]
    return (
        f"import sys; sys.path[:] = {found_at!r}; from podium.sandbox.zygote import begin; "
        f"begin({control}, {os.getpid()}, {list(layers)!r}, {asdict(limits)!r})"
    )


def _check_isolation(layers: Sequence[str], isolation: Isolation, *, logged: bool) -> None:
    missing = [layer for layer in LAYERS if layer not in layers]
    if logged:
        LOG.info("isolation: submitted files are decoded under %s", ", ".join(layers) or "no restriction")
    if logged and missing:
        LOG.info("isolation: this system has no %s", ", no ".join(missing))
    if logged and {LANDLOCK, SECCOMP} <= set(missing):
        LOG.info("isolation: code that took over a reader could read the references here")
    elif logged and SECCOMP in missing:
        LOG.info("isolation: code that took over a reader could slow down this run or change rights of its files here")
    if isolation == "full" and missing:
        raise UsageError(f"This system cannot isolate the readers in full: it has no {', no '.join(missing)}.")


class Decoders:
    """The decoder (`readers/files.py`) that readers pass submitted files on to."""

    def __init__(self, controls: Mapping[Library, socket.socket]) -> None:
        # Where the zygote of a library was killed, or there is none, another one loads it.
        self._controls = {
            library: [controls[each] for each in sorted(controls, key=lambda each: each != library)]
            for library in LIBRARIES
        }
        with Session(list(controls.values()), NO_LIBRARY, _HARMLESS, layers=()) as first:
            self.layers = first.start(within_seconds=_SECONDS_TO_START)

    def load(self, libraries: Collection[str]) -> None:
        """Let the zygotes load what will probably be needed, while this process goes on."""
        for library in LIBRARIES:
            if library in libraries:
                with suppress(OSError):  # one that was killed is noticed by the first request
                    self._controls[library][0].send(library.encode())

    def session(self, file: SafeFile, library: Library = "SimpleITK") -> "Session":
        """A decoder for one file, in no weaker a lock than the first one's."""
        return Session(self._controls[library], library.encode(), file, layers=self.layers, case=_case.get())

    @contextmanager
    def one_case(self) -> Iterator[None]:
        """Files read in this context share decoders; not where Landlock alone ties a decoder to its first file."""
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
            with session.refuse_invalid_answers():
                if answer.array is None:
                    raise ProtocolError("no pixels")
                geometry = checked_geometry(answer.value, axes=answer.array.ndim)
        return Image(answer.array, geometry.spacing, geometry.origin, geometry.direction)

    def read_volume(
        self, file: SafeFile, *, shape: tuple[int, ...] | None, max_bytes: int, binary: bool, as_voxels: bool
    ) -> Volume:
        _require("SimpleITK")
        every_place = _pixels(shape, max_bytes, axes=(3,), types=("u1",) if binary else _LABEL_TYPES)
        size = 4 if binary else 8  # of what `packed_voxels` gives
        voxels = Expected(axes=(1,), types=(f"u{size}",), max_bytes=size * FEW_VOXELS)
        expected = replace(every_place, alternative=voxels) if as_voxels else every_place
        options = {"shape": shape, "max_bytes": max_bytes, "binary": binary, "as_voxels": as_voxels}
        with self.session(file) as session:
            answer = session.ask("volume", expected=expected, **options)
            with session.refuse_invalid_answers():
                return checked_volume(answer, shape=shape, max_bytes=max_bytes, binary=binary, as_voxels=as_voxels)

    @contextmanager
    def open_hdf5(self, file: SafeFile, *, max_bytes: int) -> Iterator["RemoteHdf5"]:
        _require("h5py")
        with self.session(file, "h5py") as session:
            yield RemoteHdf5(session, max_bytes)


@cache
def _require(package: str) -> None:
    """Checked here: a decoder cannot stop the run."""
    require(package, extra="score")


def _pixels(
    shape: tuple[int, ...] | None, max_bytes: int, *, axes: Sequence[int], types: Sequence[str] | None = None
) -> Expected:
    """`max_bytes` are counted in the file, where a pixel may have one byte and be a float of eight once read."""
    pixels = max_bytes if shape is None else math.prod(shape)
    return Expected(shape=shape, axes=axes, types=types, max_bytes=pixels * _LARGEST_PIXEL_BYTES)


# One file, and the decoder that reads it.


@dataclass(frozen=True)
class Answer:
    """A JSON value that still has to be checked, and an array that was, where one was asked for."""

    value: Any
    array: NDArray[Any] | None = None


class Session(AbstractContextManager["Session"]):
    """Asks for what is in `file`. A decoder that dies is replaced once; whatever else goes wrong costs the file.

    With `case` the decoder may have read other files of the same case, and may read more of them.
    """

    def __init__(
        self,
        controls: Sequence[socket.socket],
        library: bytes,
        file: SafeFile,
        *,
        layers: Sequence[str],
        case: "CaseDecoders | None" = None,
    ) -> None:
        self.file = file
        self._case = case
        self._layers = layers  # without which no file is read
        self._library = library
        self._controls = controls  # of the zygotes that can start a decoder, the best one first
        self._decoder: RunningDecoder | None = None
        self._is_asking = False
        self._one_at_a_time = Lock()  # threads of one case share the decoder

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the decoder, whatever it is doing; one that waits is kept for the next file of the case."""
        decoder, self._decoder = self._decoder, None
        if decoder is None:
            return
        if self._case is not None and not self._is_asking:
            self._case.keep(self._library, decoder)
        else:
            decoder.end()

    def ask(self, reader: str, *, expected: Expected | None = None, **options: Any) -> Answer:
        """What `reader` finds; with `expected` an array may come with it. Refused where there is no usable answer."""
        with self._one_at_a_time, self.refuse_invalid_answers():
            tries = 0
            while tries < _TRIES:
                self._is_asking = True
                try:
                    if self._decoder is None:
                        self._take_waiting()
                    answer = self._ask(reader, expected, options)
                    self._is_asking = False
                    return answer
                except EndedError:
                    if self._decoder is None or not self._decoder.has_read_others:  # these may be the cause
                        tries += 1
                    self.close()
                except ProtocolError:
                    self.close()
                    raise
        raise ReaderDied(
            f"Reading '{self.file.name}' ended its process {_TRIES} times, by a crash or because memory ran out."
        )

    def _take_waiting(self) -> None:
        """Hand the file to an idle decoder of the case, where there is one."""
        waiting = self._case.take(self._library) if self._case is not None else None
        if waiting is None:
            return
        self._decoder = waiting
        with ExitStack() as stack:
            descriptors = [stack.enter_context(self.file.open()).fileno() for _ in OPENED]
            send(waiting.channel, {"next": True})
            send(waiting.channel, {}, descriptors=descriptors)

    @contextmanager
    def refuse_invalid_answers(self) -> Iterator[None]:
        """An answer that cannot be true costs the file."""
        try:
            yield
        except ProtocolError as fault:
            raise Refused(
                f"Reading '{self.file.name}' gave an answer that contradicts itself; save the file again.",
                detail=f"the decoder sent {fault}",
            ) from None

    def _ask(self, reader: str, expected: Expected | None, options: dict[str, Any]) -> Answer:
        if self._decoder is None and self.start() != self._layers:
            raise EndedError
        assert self._decoder is not None
        channel = self._decoder.channel
        request = {"reader": reader, "root": str(self.file.root), "name": self.file.name, "options": options}
        send(channel, request)
        answer = receive(channel)
        self._raise_fault(answer)
        if "value" not in answer:
            raise ProtocolError("an answer without a value")
        if "array" not in answer:
            return Answer(answer["value"])
        if expected is None:
            raise ProtocolError("an array that nobody asked for")
        shape, dtype = expected.check(answer["array"])
        if math.prod(shape) * dtype.itemsize <= INLINE_BYTES:
            return Answer(answer["value"], receive_small_array(channel, shape, dtype))
        shared = SharedArray(shape, dtype)
        try:
            send(channel, {}, descriptors=[shared.descriptor])
            if receive(channel) != {"written": True}:
                raise ProtocolError("something other than that the array is written")
            return Answer(answer["value"], shared.sealed())
        finally:
            shared.close()

    def _raise_fault(self, answer: dict[str, Any]) -> None:
        """What the decoder says went wrong. The words are as hostile as the file: one line, bounded, printable."""
        self._is_asking = not answer.keys() & {"refused", "memory", "unexpected"}  # after one of these it waits
        if "refused" in answer:
            raise Refused(escape_for_display(str(answer["refused"]), longest=_LONGEST_SENTENCE))
        if "memory" in answer:
            raise MemoryError
        if "unexpected" in answer:
            kind = escape_for_display(str(answer["unexpected"]), longest=_LONGEST_FAULT_NAME)
            raise Refused(
                f"'{self.file.name}' could not be read because of an unexpected {kind}.",
                detail=escape_for_display(str(answer.get("detail")), longest=_LONGEST_DETAIL),
            )

    def start(self, *, within_seconds: float | None = None) -> Sequence[str]:
        """Start a decoder; the layers of its lock, which it is in before it is told anything.

        Raises TimeoutError where it takes longer than `within_seconds`; workers have the time limit of their case.
        """
        with self.file.open() as stream:
            ours, theirs = socket.socketpair()
            reading, leash = os.pipe()
            self._decoder = RunningDecoder(ours, leash)
            try:
                self._request([theirs.fileno(), stream.fileno(), reading])
            finally:
                theirs.close()
                os.close(reading)
        ours.settimeout(within_seconds)
        locked = receive(ours).get("locked")
        ours.settimeout(None)
        return locked if isinstance(locked, list) else ()

    def _request(self, descriptors: Sequence[int]) -> None:
        for control in self._controls:
            with suppress(OSError):  # this zygote and its spares were killed at the same time
                socket.send_fds(control, [self._library], descriptors)
                return
        raise MachineError("The processes that read submitted files were killed, perhaps because memory ran out.")


@dataclass
class RunningDecoder:
    """A decoder, as its worker sees it."""

    channel: socket.socket
    leash: int
    has_read_others: bool = False
    """Whether it has read other files than the one it is asked for."""

    def end(self) -> None:
        """End it, whatever it is doing."""
        self.channel.close()
        os.close(self.leash)


class CaseDecoders:
    """The idle decoders of one case. They end with it: code that took one over reaches no other case."""

    def __init__(self) -> None:
        self._waiting: list[tuple[bytes, RunningDecoder]] = []
        self._is_over = False

    def take(self, library: bytes) -> RunningDecoder | None:
        """An idle decoder that has `library` loaded, None where there is none."""
        for each in list(self._waiting):
            if each[0] == library:
                self._waiting.remove(each)
                return each[1]
        return None

    def keep(self, library: bytes, decoder: RunningDecoder) -> None:
        """Keep a decoder for the next file."""
        if self._is_over:
            decoder.end()
            return
        decoder.has_read_others = True
        self._waiting.append((library, decoder))

    def end(self) -> None:
        """End all of them: the case is over."""
        self._is_over = True
        for _, decoder in self._waiting:
            decoder.end()
        self._waiting.clear()


# What an answer must be before it is used.


def checked_volume(
    answer: Answer, *, shape: tuple[int, ...] | None, max_bytes: int, binary: bool, as_voxels: bool
) -> Volume:
    """The volume of an answer whose array, if there is one, has an expected type; ProtocolError where it is invalid."""
    value = answer.value
    if not isinstance(value, list) or len(value) != 4:
        raise ProtocolError("no geometry and no shape")
    geometry, found = checked_geometry(value[:3], axes=3), _volume_shape(value[3], shape, max_bytes)
    array = answer.array
    if array is not None and array.ndim == 3:
        if array.shape != found:
            raise ProtocolError("labels of the wrong shape")
        if binary and array.max() > 1:
            raise ProtocolError("a mask with other values than 0 and 1")
        return Volume(found, geometry, array)
    if not as_voxels:
        raise ProtocolError("no labels")
    packed = np.zeros(0, np.uint32 if binary else np.uint64) if array is None else array
    return Volume(found, geometry, _unpacked_voxels(packed, places=math.prod(found), binary=binary))


def checked_geometry(found: Any, *, axes: int) -> Geometry:
    """Spacing, origin and direction; ProtocolError where they are invalid."""
    lengths = (axes, axes, axes * axes)
    if not isinstance(found, list) or len(found) != len(lengths):
        raise ProtocolError("no geometry")
    for numbers, length in zip(found, lengths, strict=True):
        if not isinstance(numbers, list) or len(numbers) != length or not all(type(each) is float for each in numbers):
            raise ProtocolError("an invalid geometry")
    spacing, origin, direction = (tuple(numbers) for numbers in found)
    return Geometry(spacing, origin, direction)


def _volume_shape(found: Any, expected: tuple[int, ...] | None, max_bytes: int) -> tuple[int, ...]:
    shape = checked_shape(found)
    if len(shape) != 3 or (expected is not None and shape != expected) or math.prod(shape) > max_bytes:
        raise ProtocolError("a volume of the wrong shape")
    return shape


def _unpacked_voxels(packed: NDArray[Any], *, places: int, binary: bool) -> Voxels:
    """The voxels of a volume with `places` places; ProtocolError where they cannot be in it."""
    indices = (packed if binary else packed >> np.uint64(PLACE_FROM_BIT)).astype(np.int64)
    if not (indices[-1:] < places).all() or not (indices[1:] > indices[:-1]).all():
        raise ProtocolError("voxels that are not in the volume, or not in order")
    if binary:
        return Voxels(indices, np.ones(len(indices), np.uint8))
    labels = packed & np.uint64(LARGEST_LABEL)
    if not labels.all():
        raise ProtocolError("voxels of the background")
    return Voxels(indices, labels.astype(np.min_scalar_type(int(labels.max(initial=0)))))


# An HDF5 file that a decoder reads.


@dataclass(frozen=True)
class RemoteHdf5:
    """An `Hdf5Source` (`readers/hdf5.py`) in another process, with every answer checked."""

    session: Session
    file_bytes: int

    def names(self) -> tuple[str, ...]:
        return self._names("hdf5.names")

    def keys(self) -> tuple[str, ...]:
        return self._names("hdf5.keys")

    def has(self, name: str) -> bool:
        return self._value("hdf5.has", name=name) is True

    def label(self, name: str) -> str:
        return f"'{escape_for_display(name)}' in '{self.session.file.name}'"

    def shape(self, name: str) -> tuple[int, ...]:
        with self.session.refuse_invalid_answers():
            return checked_shape(self._value("hdf5.shape", name=name))

    def read(
        self, name: str, *, shape: tuple[int, ...] | None = None, max_bytes: int = MAX_DATASET_BYTES
    ) -> NDArray[Any]:
        expected = Expected(shape=shape, max_bytes=max_bytes)
        options = {"file_bytes": self.file_bytes, "name": name, "shape": shape, "max_bytes": max_bytes}
        return _array_of(self.session.ask("hdf5.read", expected=expected, **options), self.session)

    def frames(self, name: str, *, shape: FieldShape) -> FrameStream:
        expected = Expected(axes=(2,), types=("i8",), max_bytes=MAX_CHUNKS * _TABLE_COLUMNS * 8)
        answer = self.session.ask("hdf5.locate", expected=expected, file_bytes=self.file_bytes, name=name, shape=shape)
        with self.session.refuse_invalid_answers():
            place = checked_place(answer.value, answer.array, file_bytes=self.session.file.size)
            stream = stream_field(self.session.file, place, label=self.label(name), shape=shape)
            return stream or RemoteCells(self, name, place.dtype, shape, answer.value)

    def _value(self, reader: str, **options: Any) -> Any:
        return self.session.ask(reader, file_bytes=self.file_bytes, **options).value

    def _names(self, reader: str) -> tuple[str, ...]:
        with self.session.refuse_invalid_answers():
            found = self._value(reader)
            if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
                raise ProtocolError("invalid names")
            return tuple(found)


def _array_of(answer: Answer, session: Session) -> NDArray[Any]:
    with session.refuse_invalid_answers():
        if answer.array is None:
            raise ProtocolError("no array")
        return answer.array


class RemoteCells(Cells):
    """A field that only the library can read: the decoder sends it cell by cell."""

    def __init__(
        self, source: RemoteHdf5, name: str, dtype: np.dtype[Any], shape: FieldShape, located: dict[str, Any]
    ) -> None:
        self._source, self._name = source, name
        frames, pixels = _whole_numbers(located.get("cell"), count=2, least=1)
        file, label = source.session.file, source.label(name)
        super().__init__(file, label=label, dtype=dtype, shape=shape, steps=(frames, pixels))

    def cell(self, frames: range, pixels: range) -> NDArray[Any]:
        shape = (len(frames), self.shape[1], len(pixels))
        answer = self._source.session.ask(
            "hdf5.cell",
            expected=Expected(
                shape=shape, types=(self.dtype.str[1:],), max_bytes=math.prod(shape) * self.dtype.itemsize
            ),
            file_bytes=self._source.file_bytes,
            name=self._name,
            shape=self.shape,
            frames=(frames.start, frames.stop),
            pixels=(pixels.start, pixels.stop),
        )
        return _array_of(answer, self._source.session)


def checked_place(located: Any, table: NDArray[Any] | None, *, file_bytes: int) -> FieldPlace:
    """Where a field is, according to the decoder; ProtocolError where that cannot be."""
    if not isinstance(located, dict):
        raise ProtocolError("an invalid place")
    dtype = number_type(located.get("dtype"))
    if dtype.kind not in "fiu":
        raise ProtocolError("a field that holds no numbers")
    if "offset" in located:
        (offset,) = _whole_numbers([located["offset"]], count=1, least=0)
        return FieldPlace(dtype, offset=offset)
    if "chunk" not in located:
        return FieldPlace(dtype)
    frames, axes, pixels = _whole_numbers(located["chunk"], count=3, least=1)
    filters, fill = located.get("filters"), located.get("fill")
    if filters not in UNPACKED_HERE or not isinstance(fill, str) or len(fill) != 2 * dtype.itemsize:
        raise ProtocolError("chunks with an unexpected packing")
    places = np.zeros((0, _TABLE_COLUMNS), np.int64) if table is None else table
    if places.shape[1] != _TABLE_COLUMNS:
        raise ProtocolError("an invalid table of chunks")
    starts, stored = places[:, :3], places[:, 3:5]
    largest = most_stored_bytes(frames * axes * pixels * dtype.itemsize)
    # One comparison after the other: a sum of two hostile numbers could wrap around.
    sound = (starts >= 0).all() and (stored >= 0).all() and (stored[:, 1] <= largest).all()
    if not sound or (stored[:, 0] > file_bytes).any():
        raise ProtocolError("chunks that are not in the file")
    try:
        value = bytes.fromhex(fill)
    except ValueError:
        raise ProtocolError("an invalid fill value") from None
    return FieldPlace(dtype, table=ChunkTable((frames, axes, pixels), tuple(filters), value, places))


def _whole_numbers(found: Any, *, count: int, least: int) -> list[int]:
    if not isinstance(found, list) or len(found) != count:
        raise ProtocolError("a list of the wrong length")
    if not all(type(number) is int and least <= number < 2**62 for number in found):
        raise ProtocolError("impossible numbers")
    return found
