"""What code that has taken over a decoder would try, and a program that tries it under every layer.

    attacks.py surprises REFERENCE FOLDER  prints where an attack succeeds that should fail, or the other way round
    attacks.py evaluate LAYERS ARGUMENTS   podium evaluate, whose decoders are taken over where CASES says

Runs on this machine and, as it is, inside the image.
"""

import ctypes
import fcntl
import json
import math
import mmap
import os
import resource
import socket
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from podium.errors import Refused
from podium.kernel import Limits
from podium.readers.files import SafeFile, open_beneath
from podium.sandbox.client import decoders
from podium.sandbox.lock import LANDLOCK, RLIMITS, SECCOMP, available_layers
from podium.sandbox.wire import send

sys.path.append(str(Path(__file__).resolve().parent))

from hijacking import zygotes_running

GAINED = "gained"
CLOSED = "a worker that is closed to others"  # to all but root
EVERYTHING = (RLIMITS, LANDLOCK, SECCOMP, CLOSED)
FORMATS = ("a.png", "a.tif", "a.mha", "a.nii", "a.nii.gz", "a.h5")
MIB = 1024 * 1024
CPU_SECONDS = 1
CHANNEL = 3
PTRACE_SEIZE = 0x4206
MAP_GROWSDOWN = 0x100
SECRET = b"the secret"


@dataclass(frozen=True)
class Victim:
    """What the attacker is after."""

    reference: str
    start: str  # of the reference
    output: str
    worker: int
    port: int
    secret_at: int  # in the worker's memory


def read_a_reference(victim: Victim) -> bool:
    return Path(victim.reference).read_bytes().startswith(bytes.fromhex(victim.start))


def read_a_reference_by_another_call(victim: Victim) -> bool:
    path = Path(victim.reference)
    return os.read(open_beneath(path.parent, path.name), 9).startswith(bytes.fromhex(victim.start))


def read_a_reference_through_proc(victim: Victim) -> bool:
    return Path(f"/proc/{victim.worker}/root{victim.reference}").read_bytes().startswith(bytes.fromhex(victim.start))


def measure_a_reference(victim: Victim) -> bool:
    return Path(victim.reference).stat().st_size > 0


def list_the_references(victim: Victim) -> bool:
    return Path(victim.reference) in Path(victim.reference).parent.iterdir()


def write_a_result(victim: Victim) -> bool:
    return Path(victim.output).write_text("forged", encoding="ascii") > 0


def move_a_result(victim: Victim) -> None:
    folder = Path(victim.output).parent
    folder.rename(folder.with_name("moved")).rename(folder)


def grow_a_file(victim: Victim) -> bool:
    with Path(victim.output).open("wb") as stream:
        return os.write(stream.fileno(), b"0" * 4096) == 4096


def grow_memory_that_looks_like_a_file(_: Victim) -> None:
    os.ftruncate(os.memfd_create("more"), 64 * MIB)


def read_the_memory_of_the_worker(victim: Victim) -> bool:
    with Path(f"/proc/{victim.worker}/mem").open("rb", buffering=0) as memory:
        memory.seek(victim.secret_at)
        return memory.read(len(SECRET)) == SECRET


def copy_the_memory_of_the_worker(victim: Victim) -> bool:
    found = ctypes.create_string_buffer(len(SECRET))
    here = (ctypes.c_void_p * 2)(ctypes.addressof(found), len(SECRET))
    there = (ctypes.c_void_p * 2)(victim.secret_at, len(SECRET))
    ctypes.CDLL(None).process_vm_readv(victim.worker, here, 1, there, 1, 0)
    return found.raw == SECRET


def trace_the_worker(victim: Victim) -> bool:
    return ctypes.CDLL(None).ptrace(PTRACE_SEIZE, victim.worker, None, None) == 0


def signal_the_worker(victim: Victim) -> None:
    os.kill(victim.worker, 0)


def connect(victim: Victim) -> bool:
    with socket.create_connection(("127.0.0.1", victim.port), timeout=5):
        return True


def execute_a_program(victim: Victim) -> bool:
    os.set_inheritable(CHANNEL, True)  # the worker waits for the program's end
    # Not a shell: the image may have none.
    os.execv(sys.executable, [sys.executable, "-ISc", f"open({victim.output!r}, 'w').write('forged')"])


def start_a_process(_: Victim) -> None:
    if os.fork() == 0:
        os._exit(0)


def start_a_thread(_: Victim) -> None:
    thread = threading.Thread(target=int)
    thread.start()
    thread.join()


def make_code(_: Victim) -> None:
    mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC).close()


def fill_the_memory(_: Victim) -> bool:
    return len(bytearray(512 * MIB)) > 0


def fill_shared_memory(_: Victim) -> bool:
    """The kernel counts it as nobody's data."""
    return len(mmap.mmap(-1, 512 * MIB, mmap.MAP_SHARED | mmap.MAP_ANONYMOUS)) > 0


def fill_memory_that_looks_like_a_stack(_: Victim) -> bool:
    return len(mmap.mmap(-1, 512 * MIB, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_GROWSDOWN)) > 0


def limit_the_worker(victim: Victim) -> bool:
    now = resource.prlimit(victim.worker, resource.RLIMIT_CORE)
    return resource.prlimit(victim.worker, resource.RLIMIT_CORE, now) == now


def slow_the_worker_down(victim: Victim) -> None:
    os.setpriority(os.PRIO_PROCESS, victim.worker, os.getpriority(os.PRIO_PROCESS, victim.worker))


def let_the_worker_wait_for_others(victim: Victim) -> None:
    os.sched_setscheduler(victim.worker, os.sched_getscheduler(victim.worker), os.sched_param(0))


def tie_the_worker_to_a_core(victim: Victim) -> None:
    os.sched_setaffinity(victim.worker, os.sched_getaffinity(victim.worker))


def let_the_kernel_signal_the_worker(victim: Victim) -> None:
    fcntl.fcntl(CHANNEL, fcntl.F_SETOWN, victim.worker)


def close_the_folder_of_results(victim: Victim) -> None:
    Path(victim.output).parent.chmod(0o700)


def change_the_time_of_a_folder(victim: Victim) -> None:
    os.utime(Path(victim.output).parent, (0, 0))


def open_many_files(_: Victim) -> bool:
    return len([os.dup(0) for _ in range(64)]) == 64


def run_for_ever(_: Victim) -> None:
    """Longer than the CPU seconds it is given; without a limit nobody would stop it."""
    # A busy machine ends a process some time after its limit.
    while sum(os.times()[:2]) < CPU_SECONDS + 2:
        pass


ATTACKS: Mapping[Callable[[Victim], bool | None], tuple[str, ...]] = {
    read_a_reference: (LANDLOCK, SECCOMP),
    read_a_reference_by_another_call: (LANDLOCK, SECCOMP),
    read_a_reference_through_proc: (LANDLOCK, SECCOMP, CLOSED),
    measure_a_reference: (SECCOMP,),
    list_the_references: (LANDLOCK, SECCOMP),
    write_a_result: (LANDLOCK, SECCOMP),
    move_a_result: (LANDLOCK, SECCOMP),
    grow_a_file: (LANDLOCK, SECCOMP, RLIMITS),
    grow_memory_that_looks_like_a_file: (SECCOMP, RLIMITS),
    read_the_memory_of_the_worker: (LANDLOCK, SECCOMP, CLOSED),
    copy_the_memory_of_the_worker: (LANDLOCK, SECCOMP, CLOSED),
    trace_the_worker: (LANDLOCK, SECCOMP, CLOSED),
    signal_the_worker: (LANDLOCK, SECCOMP),
    connect: (LANDLOCK, SECCOMP),
    execute_a_program: (LANDLOCK, SECCOMP),
    start_a_process: (SECCOMP,),
    start_a_thread: (SECCOMP,),
    make_code: (SECCOMP,),
    fill_the_memory: (RLIMITS,),
    fill_shared_memory: (SECCOMP, RLIMITS),
    fill_memory_that_looks_like_a_stack: (SECCOMP, RLIMITS),
    limit_the_worker: (SECCOMP,),
    slow_the_worker_down: (SECCOMP,),
    let_the_worker_wait_for_others: (SECCOMP,),
    tie_the_worker_to_a_core: (SECCOMP,),
    let_the_kernel_signal_the_worker: (SECCOMP,),
    close_the_folder_of_results: (SECCOMP,),
    change_the_time_of_a_folder: (SECCOMP,),
    open_many_files: (RLIMITS,),
    run_for_ever: (RLIMITS,),
}
"""Every attack, and the layers of which each alone refuses it. One that ends without an error, and does not return
False, has succeeded."""

BY_NAME = {attack.__name__: attack for attack in ATTACKS}


def take_over() -> None:
    """Runs in a zygote: what its decoders do with a file from now on. The file is read first, so that its library is
    in the midst of things."""
    from podium.sandbox import server

    honest = server.READERS

    def taken_over(opened: server.OpenFile, *, attack: str, victim: dict[str, Any]) -> server.Content:
        if opened.file.name.endswith(".h5"):
            honest["hdf5.names"](opened, file_bytes=MIB)
        else:
            honest["image"](opened, shape=None, max_bytes=MIB)
        return "nothing" if BY_NAME[attack](Victim(**victim)) is False else GAINED, None

    vars(server)["READERS"] = {"attack": taken_over}


def play(layers: Sequence[str], files: Sequence[Path], reference: Path, folder: Path) -> dict[str, bool]:
    """Which attacks reach what they are after, on any of `files`, by a decoder under these layers alone."""
    secret = ctypes.create_string_buffer(SECRET)
    here = Path(__file__).resolve().parent
    limits = Limits(memory_bytes=256 * MIB, cpu_seconds=CPU_SECONDS)
    gained: dict[str, bool] = {}
    with (
        locked_by(layers),
        zygotes_running(f"sys.path.append({str(here)!r}); import attacks; attacks.take_over()"),
        socket.create_server(("127.0.0.1", 0)) as server,
        decoders(limits=limits) as found,
    ):
        assert found is not None
        assert set(found.layers) == set(layers) - {CLOSED}
        for name, file in ((name, file) for name in BY_NAME for file in files):
            if name == run_for_ever.__name__ and (file != files[0] or (layers and RLIMITS not in layers)):
                continue  # it takes seconds
            with tempfile.TemporaryDirectory(dir=folder) as results:
                output = Path(results) / "output" / "metrics.json"
                output.parent.mkdir()
                victim = Victim(
                    str(reference),
                    reference.read_bytes()[:9].hex(),
                    str(output),
                    os.getpid(),
                    server.getsockname()[1],
                    ctypes.addressof(secret),
                )
                library = "h5py" if file.suffix == ".h5" else "SimpleITK"
                with found.session(SafeFile(file.parent, file.name), library) as session:  # type: ignore[arg-type]
                    try:
                        answer = session.ask("attack", attack=name, victim=asdict(victim)).value
                    except (Refused, MemoryError):
                        answer = "nothing"
                forged = output.exists() and output.stat().st_size > 0
                gained[name] = gained.get(name, False) or answer == GAINED or forged
    return gained


@contextmanager
def locked_by(layers: Sequence[str]) -> Iterator[None]:
    closed = nullcontext() if CLOSED in layers else patch("podium.sandbox.client.closed_to_others", nullcontext)
    locks = [layer for layer in layers if layer != CLOSED]
    with closed, patch("podium.sandbox.client.available_layers", lambda: locks):
        yield


def write_files(folder: Path) -> list[Path]:
    """A small file of every format that is accepted."""
    import h5py
    import numpy as np
    import SimpleITK as sitk

    values = np.ones((3, 4, 5), np.uint8)
    for name in FORMATS[:-1]:
        sitk.WriteImage(sitk.GetImageFromArray(values[0] if name in ("a.png", "a.tif") else values), folder / name)
    with h5py.File(folder / FORMATS[-1], "w") as file:
        file["mask"] = values
    return [folder / name for name in FORMATS]


def table(reference: Path, folder: Path) -> dict[str, dict[str, bool]]:
    """Which attacks succeed: without any layer, under each alone, under all, and under all but Landlock. The last two
    from a file of every format."""
    for layer in (LANDLOCK, SECCOMP):
        assert layer in available_layers(), f"this kernel has no {layer}"
    found = {}
    with tempfile.TemporaryDirectory(dir=folder) as made:
        files = write_files(Path(made))
        for layers in ((), *((layer,) for layer in EVERYTHING)):
            found[" + ".join(layers)] = play(layers, files[:1], reference, folder)
        for layers in (EVERYTHING, tuple(layer for layer in EVERYTHING if layer != LANDLOCK)):
            found[" + ".join(layers)] = play(layers, files, reference, folder)
    return found


def surprises(gained: Mapping[str, Mapping[str, bool]]) -> list[str]:
    """Where a table contradicts ATTACKS: an attack that fails without any layer shows nothing about the layers."""
    refused = set() if _may_copy_memory() else {copy_the_memory_of_the_worker.__name__}
    found = [f"{name} fails without any layer" for name in gained[""].keys() - refused if not gained[""][name]]
    for attack, layers in ATTACKS.items():
        under = [layer for layer in layers if layer != CLOSED or os.geteuid() != 0]  # root looks into every process
        claimed = [*under, *(together for together in gained if "+" in together)]
        found += [f"{attack.__name__} succeeds under {each}" for each in claimed if gained[each][attack.__name__]]
    return found


def _may_copy_memory() -> bool:
    """Of this very process: some container engines refuse the call."""
    secret = ctypes.create_string_buffer(SECRET)
    return copy_the_memory_of_the_worker(Victim("", "", "", os.getpid(), 0, ctypes.addressof(secret)))


def lie_about_the_shape(channel: socket.socket, shape: Sequence[int]) -> None:
    send(channel, {"value": None, "array": {"shape": [*shape, 2], "dtype": "|u1"}})
    channel.sendall(bytes(2 * math.prod(shape)))


def send_fewer_bytes(channel: socket.socket, shape: Sequence[int]) -> None:
    send(channel, {"value": None, "array": {"shape": list(shape), "dtype": "|u1"}})
    channel.sendall(bytes(math.prod(shape) - 1))
    os._exit(0)


def crash(_: socket.socket, __: Sequence[int]) -> None:
    ctypes.string_at(0)


def fill_all_memory(_: socket.socket, __: Sequence[int]) -> None:
    kept = []
    while True:
        kept.append(b"x" * 64 * MIB)


def never_end(_: socket.socket, __: Sequence[int]) -> None:
    while True:
        pass


CASES: Mapping[str, Callable[[socket.socket, Sequence[int]], None]] = {
    "csv_0007": lie_about_the_shape,
    "csv_0058": send_fewer_bytes,
    "csv_0090": crash,
    "csv_0113": fill_all_memory,
    "csv_0128": never_end,
}
"""Cases of a carotid sample, and what the decoder of each does instead; test_lies.py has every kind of wrong reply."""


def take_over_some_cases() -> None:
    """Runs in a zygote."""
    from podium.sandbox import server

    honest = vars(server)["_reply"]

    def answer(channel: socket.socket, opened: Any, reader: str, options: dict[str, Any]) -> None:
        bad = next((CASES[case] for case in CASES if case in opened.file.name), None)
        if bad is not None and reader == "hdf5.read":
            bad(channel, options["shape"] or [1])
        else:
            honest(channel, opened, reader, options)

    vars(server)["_reply"] = answer


def evaluate(layers: Sequence[str], arguments: Sequence[str]) -> int:
    from podium.cli import main

    here = Path(__file__).resolve().parent
    code = f"sys.path.append({str(here)!r}); import attacks; attacks.take_over_some_cases()"
    few = Limits(memory_bytes=256 * MIB, cpu_seconds=CPU_SECONDS)
    with locked_by(layers), zygotes_running(code), patch("podium.sandbox.client.Limits", lambda: few):
        return main(["evaluate", *arguments])


if __name__ == "__main__":
    if sys.argv[1] == "surprises":
        print(json.dumps(surprises(table(Path(sys.argv[2]), Path(sys.argv[3])))))
    else:
        sys.exit(evaluate(sys.argv[2].split("+"), sys.argv[3:]))
