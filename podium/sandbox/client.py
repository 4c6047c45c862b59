"""The worker's side of decoding: starts decoders before any reference is read, asks them, and checks their replies.

The danger: a decoder that a submitted file has taken over sends whatever it likes. Its replies are untrusted: type,
shape, length and values of each are checked against the request before they are used, and the decoder ends with its
case. Readers pass submitted files on to `Decoders`, which opens a `Session` for every file. Of an HDF5 file
(`RemoteHdf5`) small datasets come back as arrays; of large fields the decoder only says where their chunks are.
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
from dataclasses import asdict, astuple, dataclass, field, replace
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from podium.errors import MachineError, ReaderDied, Refused, UsageError
from podium.kernel import Limits, closed_to_others, is_linux, signals_blocked
from podium.packages import READER_PACKAGES, require
from podium.readers.decoding import decoded_by, is_decoder_installed
from podium.readers.files import SafeFile, escape_for_display
from podium.readers.frames import FieldShape, FrameStream
from podium.readers.geometry import Geometry, Shape
from podium.readers.hdf5 import MAX_DATASET_BYTES
from podium.readers.hdf5_storage import FILTERS, MAX_CHUNKS, ChunkTable, Storage, most_stored_bytes, stream_field
from podium.readers.images import Image
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
    send_descriptors,
)
from podium.sandbox.zygote import NO_PACKAGE

Isolation = Literal["full", "best"]  # whether an evaluation needs every layer, or takes those that the kernel has
ZYGOTE_IMPORT = "from podium.sandbox.zygote import begin"  # the first line of a zygote's program
LOG = logging.getLogger(__name__)
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
    libraries: Collection[str] = READER_PACKAGES,
    logged: bool = True,
    meanwhile: Callable[[], None] = lambda: None,
) -> Iterator["Decoders | None"]:
    """Decode submitted files in locked-in processes while the context lasts; None where the system has none.

    Args:
        isolation: "full" raises UsageError where a layer is missing.
        limits: Of one decoder.
        libraries: The packages that will probably be needed.
        logged: Whether the log says which layers apply.
        meanwhile: Called while the processes start.
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
    limits: Limits, *, libraries: Collection[str] = READER_PACKAGES, meanwhile: Callable[[], None] = lambda: None
) -> Iterator["Decoders"]:
    """Decoders that readers do not pass files on to yet.

    Each package has a zygote of its own: the fewer packages a process has loaded, the faster it is forked.
    """
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most != resource.RLIM_INFINITY and most < _FEWEST_OPEN_FILES:
        raise MachineError(
            f"This process may open only {most} files at once, and Podium needs {_FEWEST_OPEN_FILES}: raise the limit, "
            "as with 'ulimit -n 1024'."
        )
    expected = [package for package in READER_PACKAGES if package in libraries]
    with ExitStack() as stack:
        controls = {package: stack.enter_context(_zygote(limits)) for package in expected or READER_PACKAGES[:1]}
        stack.enter_context(closed_to_others())
        meanwhile()
        try:
            first = RunningDecoder.start(
                next(iter(controls.values())), NO_PACKAGE, _HARMLESS, within_seconds=_SECONDS_TO_START
            )
        except TimeoutError:
            raise MachineError("The processes that read submitted files do not start; are they stopped?") from None
        except (EndedError, MachineError):
            raise MachineError("The processes that read submitted files end as soon as they are started.") from None
        first.end()
        for package in expected:  # they are loaded while this process goes on
            with suppress(OSError):  # a zygote that was killed is noticed by the first request
                controls[package].send(package.encode())
        yield Decoders(controls, first.layers)


@contextmanager
def _zygote(limits: Limits) -> Iterator[socket.socket]:
    """A zygote while the context lasts: the socket for requests to it."""
    control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    found_at = [str(Path(__file__).resolve().parents[2]), *filter(None, sys.path)]
    program = (
        f"import sys; sys.path[:] = {found_at!r}; {ZYGOTE_IMPORT}; "
        f"begin({theirs.fileno()}, {os.getpid()}, {list(available_layers())!r}, {asdict(limits)!r})"
    )
    with theirs, signals_blocked():
        process = subprocess.Popen(  # noqa: S603  (nothing of a submission is in it)
            [sys.executable, "-ISX", "utf8", "-c", program],
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
            control.shutdown(socket.SHUT_WR)  # the zygote ends by itself
            control.settimeout(_SECONDS_TO_END)
            control.recv(1)  # nothing, once it has ended
        process.kill()
        process.wait()


def _check_isolation(layers: Sequence[str], isolation: Isolation, *, logged: bool) -> None:
    missing = [layer for layer in LAYERS if layer not in layers]
    if logged:
        LOG.info("isolation: submitted files are decoded under %s", ", ".join(layers) or "no restriction")
        if missing:
            LOG.info("isolation: this system has no %s", ", no ".join(missing))
        if SECCOMP in missing:
            harm = "slow down this run or change rights of its files" if LANDLOCK in layers else "read the references"
            LOG.info("isolation: code that took over a reader could %s here", harm)
    if isolation == "full" and missing:
        raise UsageError(f"This system cannot isolate the readers in full: it has no {', no '.join(missing)}.")


@dataclass
class Decoders:
    """The decoder (`readers/decoding.py`) that readers pass submitted files on to."""

    controls: Mapping[str, socket.socket]  # requests to the zygote of each expected package
    layers: Sequence[str]  # without which no file is read

    def session(self, file: SafeFile, package: str = "SimpleITK") -> "Session":
        """A decoder for one file, in no weaker a lock than the first one's."""
        _require(package)
        control = self.controls.get(package) or next(iter(self.controls.values()))
        return Session(control, package.encode(), file, self.layers, _case.get())

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

    def read_image(self, file: SafeFile, shape: Shape | None, onto: Geometry | None, max_bytes: int) -> Image:
        expected = _pixels(shape, max_bytes, axes=(2, 3))
        with self.session(file) as session:
            options: dict[str, Any] = {"shape": shape, "onto": onto and astuple(onto), "max_bytes": max_bytes}
            reply = session.ask("image", expected=expected, **options)
            with session.refuse_invalid_replies():
                if reply.array is None:
                    raise ProtocolError("no pixels")
                return Image(reply.array, checked_geometry(reply.value, axes=reply.array.ndim))

    def read_volume(
        self, file: SafeFile, shape: Shape | None, onto: Geometry | None, max_bytes: int, **kind: bool
    ) -> Volume:
        every_place = _pixels(shape, max_bytes, axes=(3,), types=("u1",) if kind["binary"] else _LABEL_TYPES)
        size = 4 if kind["binary"] else 8  # of what `packed_voxels` gives
        voxels = Expected(axes=(1,), types=(f"u{size}",), max_bytes=size * FEW_VOXELS)
        expected = replace(every_place, alternative=voxels) if kind["as_voxels"] else every_place
        options: dict[str, Any] = {"shape": shape, "max_bytes": max_bytes, **kind}
        with self.session(file) as session:
            reply = session.ask("volume", expected=expected, onto=onto and astuple(onto), **options)
            with session.refuse_invalid_replies():
                return checked_volume(reply, **options)

    @contextmanager
    def open_hdf5(self, file: SafeFile, *, max_bytes: int) -> Iterator["RemoteHdf5"]:
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
class Reply:
    """A JSON value that still has to be checked, and an array that was, where one was asked for."""

    value: Any
    array: NDArray[Any] | None = None


@dataclass(eq=False)
class RunningDecoder:
    """A decoder, as its worker sees it."""

    package: bytes
    channel: socket.socket
    leash: int  # a pipe: when it is closed, the zygote kills the decoder
    layers: Sequence[str] = ()  # of its lock, as it reports them before it reads anything
    has_read_others: bool = False  # files than the one it is asked for

    @classmethod
    def start(
        cls, control: socket.socket, package: bytes, file: SafeFile, *, within_seconds: float | None = None
    ) -> "RunningDecoder":
        """Have the zygote behind `control` fork a decoder that has `file` open and has locked itself in.

        Raises TimeoutError where that takes longer than `within_seconds`; workers have the time limit of their case.
        """
        with file.open() as stream, ExitStack() as on_failure:
            ours, theirs = socket.socketpair()
            reading, leash = os.pipe()
            decoder = cls(package, ours, leash)
            on_failure.callback(decoder.end)
            try:
                socket.send_fds(control, [package], [theirs.fileno(), stream.fileno(), reading])
            except OSError:
                raise MachineError(
                    "The processes that read submitted files were killed, perhaps because memory ran out."
                ) from None
            finally:
                theirs.close()
                os.close(reading)
            ours.settimeout(within_seconds)
            locked = receive(ours).get("locked")
            ours.settimeout(None)
            on_failure.pop_all()
        decoder.layers = locked if isinstance(locked, list) else ()
        return decoder

    def end(self) -> None:
        """End it, whatever it is doing."""
        self.channel.close()
        os.close(self.leash)


@dataclass
class CaseDecoders:
    """The idle decoders of one case. They end with it: code that took one over reaches no other case."""

    idle: list[RunningDecoder] = field(default_factory=list)
    is_over: bool = False

    def take(self, package: bytes) -> RunningDecoder | None:
        """An idle decoder that has `package` loaded, None where there is none."""
        for decoder in self.idle:
            if decoder.package == package:
                self.idle.remove(decoder)
                return decoder
        return None

    def end(self) -> None:
        self.is_over = True
        while self.idle:
            self.idle.pop().end()


@dataclass(eq=False)
class Session(AbstractContextManager["Session"]):
    """Asks for what is in `file`. A decoder that dies is replaced once; whatever else goes wrong costs the file.

    With `case` the decoder may have read other files of the same case, and may read more of them.
    """

    control: socket.socket
    package: bytes
    file: SafeFile
    layers: Sequence[str]
    case: CaseDecoders | None
    _decoder: RunningDecoder | None = None
    _is_waiting: bool = False  # for a reply
    _one_at_a_time: Lock = field(default_factory=Lock)  # threads of one case share the decoder

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the decoder, whatever it is doing; one that is idle is kept for the next file of the case."""
        decoder, self._decoder = self._decoder, None
        if decoder is None:
            return
        if self.case is None or self.case.is_over or self._is_waiting:
            decoder.end()
        else:
            decoder.has_read_others = True
            self.case.idle.append(decoder)

    def ask(self, reader: str, *, expected: Expected | None = None, **options: Any) -> Reply:
        """What `reader` finds; with `expected` an array may come with it. Refused where there is no usable reply."""
        with self._one_at_a_time, self.refuse_invalid_replies():
            tries = 0
            while tries < _TRIES:
                self._is_waiting = True
                try:
                    reply = self._ask(self._decoder or self._next_decoder(), reader, expected, options)
                    self._is_waiting = False
                    return reply
                except EndedError:
                    if self._decoder is None or not self._decoder.has_read_others:  # these may be the cause
                        tries += 1
                    self.close()
                except ProtocolError:
                    self.close()
                    raise
        raise ReaderDied(f"Reading '{self.file.name}' crashed or ran out of memory on every attempt.")

    def _next_decoder(self) -> RunningDecoder:
        """An idle decoder of the case, which is handed the file, or else a new one."""
        self._decoder = self.case.take(self.package) if self.case is not None else None
        if self._decoder is None:
            self._decoder = RunningDecoder.start(self.control, self.package, self.file)
            if self._decoder.layers != self.layers:
                raise EndedError
            return self._decoder
        with ExitStack() as stack:
            descriptors = [stack.enter_context(self.file.open()).fileno() for _ in OPENED]
            send(self._decoder.channel, {"next": True})
            send_descriptors(self._decoder.channel, descriptors)
        return self._decoder

    @contextmanager
    def refuse_invalid_replies(self) -> Iterator[None]:
        """A reply that cannot be true costs the file."""
        try:
            yield
        except ProtocolError as fault:
            raise Refused(
                f"'{self.file.name}' could not be decoded consistently; re-save the file.",
                detail=f"the decoder sent {fault}",
            ) from None

    def _ask(self, decoder: RunningDecoder, reader: str, expected: Expected | None, options: dict[str, Any]) -> Reply:
        channel = decoder.channel
        send(channel, {"reader": reader, "root": str(self.file.root), "name": self.file.name, "options": options})
        message = receive(channel)
        self._raise_fault(message)
        if "value" not in message:
            raise ProtocolError("a reply without a value")
        if "array" not in message:
            return Reply(message["value"])
        if expected is None:
            raise ProtocolError("an array that was not requested")
        shape, dtype = expected.check(message["array"])
        if math.prod(shape) * dtype.itemsize <= INLINE_BYTES:
            return Reply(message["value"], receive_small_array(channel, shape, dtype))
        shared = SharedArray(shape, dtype)
        try:
            send_descriptors(channel, [shared.descriptor])
            if receive(channel) != {"written": True}:
                raise ProtocolError("something other than that the array is written")
            return Reply(message["value"], shared.sealed())
        finally:
            shared.close()

    def _raise_fault(self, message: dict[str, Any]) -> None:
        """Raise what the decoder reports. Its words are as hostile as the file: one line, bounded, printable."""
        self._is_waiting = not message.keys() & {"refused", "memory", "unexpected"}  # after one of these it is idle
        if "refused" in message:
            raise Refused(escape_for_display(str(message["refused"]), longest=_LONGEST_SENTENCE))
        if "memory" in message:
            raise MemoryError
        if "unexpected" in message:
            kind = escape_for_display(str(message["unexpected"]), longest=_LONGEST_FAULT_NAME)
            raise Refused(
                f"'{self.file.name}' could not be read because of an unexpected {kind}.",
                detail=escape_for_display(str(message.get("detail")), longest=_LONGEST_DETAIL),
            )


# What a reply must be before it is used.


def checked_volume(
    reply: Reply, *, shape: tuple[int, ...] | None, max_bytes: int, binary: bool, as_voxels: bool
) -> Volume:
    """The volume of a reply whose array, if there is one, has an expected type; ProtocolError where it is invalid."""
    value = reply.value
    if not isinstance(value, list) or len(value) != 4:
        raise ProtocolError("no geometry and no shape")
    geometry, found, array = checked_geometry(value[:3], axes=3), checked_shape(value[3]), reply.array
    if len(found) != 3 or (shape is not None and found != shape) or math.prod(found) > max_bytes:
        raise ProtocolError("a volume of the wrong shape")
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
    """Spacing, origin and direction, or a spacing alone; ProtocolError where they are invalid."""
    if not isinstance(found, list) or not all(isinstance(numbers, list) for numbers in found):
        raise ProtocolError("no geometry")
    if [*map(len, found)] not in ([axes, axes, axes * axes], [axes, 0, 0]):
        raise ProtocolError("an invalid geometry")
    if not all(type(each) is float and math.isfinite(each) for numbers in found for each in numbers):
        raise ProtocolError("an invalid geometry")
    spacing, origin, direction = (tuple(numbers) for numbers in found)
    return Geometry(spacing, origin, direction)


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
    """An `Hdf5Source` (`readers/hdf5.py`) in another process, with every reply checked."""

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
        with self.session.refuse_invalid_replies():
            return checked_shape(self._value("hdf5.shape", name=name))

    def read(
        self, name: str, *, shape: tuple[int, ...] | None = None, max_bytes: int = MAX_DATASET_BYTES
    ) -> NDArray[Any]:
        expected = Expected(shape=shape, max_bytes=max_bytes)
        options = {"file_bytes": self.file_bytes, "name": name, "shape": shape, "max_bytes": max_bytes}
        with self.session.refuse_invalid_replies():
            values = self.session.ask("hdf5.read", expected=expected, **options).array
            if values is None:
                raise ProtocolError("no array")
            return values

    def frames(self, name: str, *, shape: FieldShape) -> FrameStream:
        expected = Expected(axes=(2,), types=("i8",), max_bytes=MAX_CHUNKS * _TABLE_COLUMNS * 8)
        reply = self.session.ask("hdf5.locate", expected=expected, file_bytes=self.file_bytes, name=name, shape=shape)
        with self.session.refuse_invalid_replies():
            place = checked_place(reply.value, reply.array, file_bytes=self.session.file.size)
            return stream_field(self.session.file, place, label=self.label(name), shape=shape)

    def _value(self, reader: str, **options: Any) -> Any:
        return self.session.ask(reader, file_bytes=self.file_bytes, **options).value

    def _names(self, reader: str) -> tuple[str, ...]:
        with self.session.refuse_invalid_replies():
            found = self._value(reader)
            if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
                raise ProtocolError("invalid names")
            return tuple(found)


def checked_place(located: Any, table: NDArray[Any] | None, *, file_bytes: int) -> Storage:
    """Where a field is, according to the decoder; ProtocolError where that cannot be."""
    if not isinstance(located, dict):
        raise ProtocolError("an invalid place")
    dtype = number_type(located.get("dtype"))
    if dtype.kind not in "fiu":
        raise ProtocolError("a field that holds no numbers")
    if "offset" in located:
        (offset,) = _whole_numbers([located["offset"]], count=1, least=0)
        return Storage(dtype, offset=offset)
    frames, axes, pixels = _whole_numbers(located.get("chunk"), count=3, least=1)
    filters, fill = located.get("filters"), located.get("fill")
    if filters not in FILTERS or not isinstance(fill, str) or len(fill) != 2 * dtype.itemsize:
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
    return Storage(dtype, table=ChunkTable((frames, axes, pixels), tuple(filters), value, places))


def _whole_numbers(found: Any, *, count: int, least: int) -> list[int]:
    if not isinstance(found, list) or len(found) != count:
        raise ProtocolError("a list of the wrong length")
    if not all(type(number) is int and least <= number < 2**62 for number in found):
        raise ProtocolError("impossible numbers")
    return found
