"""What a decoder can do once an attacker runs code in it: nothing, as long as one of the layers named here is there.

Every attack is also made without any layer, where it must succeed: a test that could not fail would show nothing.
"""

import ctypes
import mmap
import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import pytest

from podium.errors import Refused
from podium.readers.beneath import open_beneath
from podium.readers.files import SafeFile
from podium.sandbox import decoder
from podium.sandbox.decoders import decoders
from podium.sandbox.limits import Limits
from podium.sandbox.lock import LANDLOCK, RLIMITS, SECCOMP, available_layers

GAINED = "gained"
CHANNEL = 3
CLOSED = "a worker that is closed to others"  # to all but root
MIB = 1024 * 1024
PTRACE_SEIZE = 0x4206
SECRET = ctypes.create_string_buffer(b"nothing yet")  # at the same address in every process forked from here


@dataclass(frozen=True)
class Victim:
    """What the attacker is after."""

    reference: Path
    output: Path
    worker: int
    port: int


def read_a_reference(victim: Victim) -> bool:
    return victim.reference.read_bytes() == b"the truth"


def read_a_reference_through_proc(victim: Victim) -> bool:
    return Path(f"/proc/{victim.worker}/root{victim.reference}").read_bytes() == b"the truth"


def read_a_reference_by_another_call(victim: Victim) -> bool:
    return os.read(open_beneath(victim.reference.parent, victim.reference.name), 9) == b"the truth"


def measure_a_reference(victim: Victim) -> bool:
    return victim.reference.stat().st_size == len(b"the truth")


def list_the_references(victim: Victim) -> bool:
    return list(victim.reference.parent.iterdir()) == [victim.reference]


def write_a_result(victim: Victim) -> bool:
    return victim.output.write_text("forged") > 0


def move_a_result(victim: Victim) -> bool:
    victim.output.parent.rename(victim.output.parent.with_name("moved"))
    return True


def grow_a_file(victim: Victim) -> bool:
    with victim.output.open("wb") as stream:
        return os.write(stream.fileno(), b"0" * 4096) == 4096


def grow_memory_that_looks_like_a_file(_: Victim) -> bool:
    os.ftruncate(os.memfd_create("more"), 64 * MIB)
    return True


def read_the_memory_of_the_worker(victim: Victim) -> bool:
    with Path(f"/proc/{victim.worker}/mem").open("rb", buffering=0) as memory:
        memory.seek(ctypes.addressof(SECRET))
        return memory.read(10) == b"the secret"


def copy_the_memory_of_the_worker(victim: Victim) -> bool:
    found = ctypes.create_string_buffer(10)
    here = (ctypes.c_void_p * 2)(ctypes.addressof(found), 10)
    there = (ctypes.c_void_p * 2)(ctypes.addressof(SECRET), 10)
    ctypes.CDLL(None).process_vm_readv(victim.worker, here, 1, there, 1, 0)
    return found.raw == b"the secret"


def trace_the_worker(victim: Victim) -> bool:
    return ctypes.CDLL(None).ptrace(PTRACE_SEIZE, victim.worker, None, None) == 0


def signal_the_worker(victim: Victim) -> bool:
    os.kill(victim.worker, 0)
    return True


def connect(victim: Victim) -> bool:
    with socket.create_connection(("127.0.0.1", victim.port), timeout=5):
        return True


def execute_a_program(victim: Victim) -> bool:
    os.set_inheritable(CHANNEL, True)  # the worker waits for the program's end
    os.execv("/bin/sh", ["sh", "-c", f"echo forged > {victim.output}"])


def start_a_process(_: Victim) -> bool:
    if os.fork() == 0:
        os._exit(0)
    return True


def start_a_thread(_: Victim) -> bool:
    thread = threading.Thread(target=int)
    thread.start()
    thread.join()
    return True


def make_code(_: Victim) -> bool:
    mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC).close()
    return True


def fill_the_memory(_: Victim) -> bool:
    return len(bytearray(256 * MIB)) > 0


def open_many_files(_: Victim) -> bool:
    return len([os.dup(0) for _ in range(64)]) == 64


ATTACKS: dict[Callable[[Victim], bool], tuple[str, ...]] = {
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
    open_many_files: (RLIMITS,),
}
"""Every attack, and the layers of which each alone refuses it."""

_ALONE = [(attack, layer) for attack, layers in ATTACKS.items() for layer in layers]


@pytest.fixture
def victim(tmp_path: Path) -> Iterator[Victim]:
    (tmp_path / "truth").mkdir()
    (tmp_path / "output").mkdir()
    reference = tmp_path / "truth" / "a.txt"
    reference.write_bytes(b"the truth")
    (tmp_path / "mine.png").write_bytes(b"hostile")
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield Victim(reference, tmp_path / "output" / "metrics.json", os.getpid(), server.getsockname()[1])


def gains(
    attack: Callable[[Victim], bool], victim: Victim, layers: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> bool:
    """Whether the attack, as code of a decoder under `layers`, reaches what it is after."""

    def taken_over(_: decoder.OpenFile) -> decoder.Answer:
        return GAINED if attack(victim) else "nothing", None

    monkeypatch.setattr(decoder, "READERS", {"image": taken_over})
    locks = [layer for layer in layers if layer != CLOSED]
    monkeypatch.setattr("podium.sandbox.decoders.available_layers", lambda: locks)
    if CLOSED not in layers:
        monkeypatch.setattr("podium.sandbox.decoders.closed_to_others", nullcontext)
    SECRET.value = b"nothing yet"
    file = SafeFile(victim.reference.parent.parent, "mine.png")
    with decoders(limits=Limits(memory_bytes=64 * MIB)) as found:
        assert found is not None
        assert set(found.layers) == set(locks)
        SECRET.value = b"the secret"
        with found.session(file) as session:
            try:
                answer = session.ask("image").value
            except (Refused, MemoryError):
                answer = "nothing"
    return answer == GAINED or (victim.output.exists() and victim.output.stat().st_size > 0)


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
def test_without_any_layer_the_attack_succeeds(
    attack: Callable[[Victim], bool], victim: Victim, monkeypatch: pytest.MonkeyPatch
) -> None:
    SECRET.value = b"the secret"
    if attack is copy_the_memory_of_the_worker and not attack(victim):  # of this very process
        pytest.skip("the engine of this container refuses it already")
    assert gains(attack, victim, (), monkeypatch)


@pytest.mark.parametrize(("attack", "layer"), _ALONE, ids=lambda each: each if isinstance(each, str) else each.__name__)
def test_a_layer_alone_refuses_the_attack(
    attack: Callable[[Victim], bool], layer: str, victim: Victim, monkeypatch: pytest.MonkeyPatch
) -> None:
    if layer == CLOSED and os.geteuid() == 0:
        pytest.skip("root may look into every process")
    if layer != CLOSED and layer not in available_layers():
        pytest.skip(f"this kernel has no {layer}")
    assert not gains(attack, victim, (layer,), monkeypatch)


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
def test_all_layers_together_refuse_the_attack(
    attack: Callable[[Victim], bool], victim: Victim, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not gains(attack, victim, (*available_layers(), CLOSED), monkeypatch)
