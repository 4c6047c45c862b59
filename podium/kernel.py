"""What Python lacks around the system: calls, signals around a fork, limits of a process, files written as a whole."""

import ctypes
import os
import resource
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

LIBC = ctypes.CDLL(None, use_errno=True)

# These numbers are the same on every machine, unlike those of older calls.
OPENAT2 = 437
LANDLOCK_CREATE_RULESET, LANDLOCK_ADD_RULE, LANDLOCK_RESTRICT_SELF = 444, 445, 446
SECCOMP_CALLS = {"x86_64": 317, "aarch64": 277}

_SET_PDEATHSIG, _GET_DUMPABLE, _SET_DUMPABLE, _SET_NO_NEW_PRIVS = 1, 3, 4, 38  # of prctl
_OPEN_FILES = 16
REQUESTS_TO_END = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

# What the kernel kills first where memory runs out: a decoder costs one file, a worker one case, the child process of a
# batch a few teams. Zygotes and the main process, which everything depends on, keep the score that they started with.
DECODER_OOM_SCORE, WORKER_OOM_SCORE, TEAMS_OOM_SCORE = 1000, 900, 500


class RequestToEnd:
    """Whether a command's signal handler was called. What the handler raises may be dropped in a callback, so
    long-running work checks this. Not an `Event`: a handler that interrupts itself would wait forever for its lock."""

    was_made = False


request_to_end = RequestToEnd()


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A temporary file beside `path` that replaces it when the context ends without an error.

    A reader, also on another machine, finds the old file, none, or the whole new one.
    """
    temporary = path.with_name(f".{path.name[:150]}.{os.uname().nodename[:50]}.{os.getpid()}")
    try:
        yield temporary
        temporary.replace(path)
    finally:
        with suppress(OSError):
            temporary.unlink()


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Raise TimeoutError where the content of this context takes longer: in Python code, in `re`, in waiting.

    Signals reach the main thread alone: in another one nothing is bounded.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(*_: object) -> None:
        raise TimeoutError(f"it was not done after {seconds:g} s")

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def is_linux() -> bool:
    return sys.platform == "linux"


def syscall(number: int, *arguments: object) -> int:
    """The result of a system call; OSError where it fails. Integers are passed as 64 bits."""
    passed = [ctypes.c_long(each) if isinstance(each, int) else each for each in arguments]
    return _checked(LIBC.syscall(ctypes.c_long(number), *passed))


def prctl(option: int, value: int = 0) -> int:
    """Change or query a property of this process; OSError where that fails."""
    zero = ctypes.c_ulong(0)
    return _checked(LIBC.prctl(ctypes.c_int(option), ctypes.c_ulong(value), zero, zero, zero))


def _checked(result: int) -> int:
    if result < 0:
        raise OSError(code := ctypes.get_errno(), os.strerror(code))
    return result


@contextmanager
def signals_blocked() -> Iterator[None]:
    """Block requests to end while a process is forked, or while temporary files are deleted.

    What their handler raises in one of Python's own functions around a fork is printed and dropped, and the process
    would go on as if nobody had asked it to end. The new process calls `unblock_signals` once it has its own handlers.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, REQUESTS_TO_END)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def unblock_signals() -> None:
    """Undo `signals_blocked` in a process that was forked meanwhile."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, REQUESTS_TO_END)


# Limits a process puts on itself: resources, privileges, and who may look into it.


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The limits of one decoder: memory beyond what it starts with, and seconds of CPU time."""

    memory_bytes: int = 6 * 1024**3  # the largest image twice (the library's and an array), and the file
    cpu_seconds: int = 3600  # workers enforce the time limit of a case; this one stops decoders that outlive them

    def resources(self) -> Sequence[tuple[int, int]]:
        """The limits to set in a process like this one, none higher than its current ones: no file grows, no process
        starts, few files are open; bounded memory and time."""
        pages = [int(each) for each in Path("/proc/self/statm").read_text(encoding="ascii").split()]
        mapped, used = pages[0] * resource.getpagesize(), pages[5] * resource.getpagesize()
        wanted = {
            resource.RLIMIT_DATA: used + self.memory_bytes,
            # What is shared is not data: the array for the answer, which is half of the rest at most.
            resource.RLIMIT_AS: mapped + self.memory_bytes * 3 // 2,
            resource.RLIMIT_CPU: self.cpu_seconds,
            resource.RLIMIT_FSIZE: 0,
            resource.RLIMIT_NOFILE: _OPEN_FILES,
            resource.RLIMIT_NPROC: 0,
            resource.RLIMIT_CORE: 0,
            resource.RLIMIT_MEMLOCK: 0,
        }
        most = {what: resource.getrlimit(what)[1] for what in wanted}
        return [
            (what, value if most[what] == resource.RLIM_INFINITY else min(value, most[what]))
            for what, value in wanted.items()
        ]


def limit_resources(resources: Sequence[tuple[int, int]]) -> None:
    """Apply limits to this process, permanently."""
    for what, value in resources:
        resource.setrlimit(what, (value, value))


def refuse_new_privileges() -> None:
    """No program that this process starts gains rights from a file's owner or capabilities."""
    prctl(_SET_NO_NEW_PRIVS, 1)


def die_with(parent: int) -> None:
    """End this process when its parent ends, also if that happened already. On Linux only."""
    if not is_linux():
        return
    prctl(_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


def is_stopped(process: int) -> bool:
    """Whether a signal such as SIGSTOP keeps a process from running; False where the system does not say."""
    with suppress(OSError):
        return Path(f"/proc/{process}/stat").read_bytes().rpartition(b")")[2].split()[0] == b"T"
    return False


def set_oom_score(score: int) -> None:
    """Where memory runs out, the kernel kills this process before those with a lower score (0 to 1000)."""
    if not is_linux():
        return
    # The file belongs to root while the process is closed to others of its user.
    with suppress(OSError), _dumpable(1):
        Path("/proc/self/oom_score_adj").write_text(str(score), encoding="ascii")


def closed_to_others() -> AbstractContextManager[None]:
    """Other processes of the same user can neither read this process's memory nor trace it. Children inherit this."""
    return _dumpable(0)


@contextmanager
def _dumpable(wanted: int) -> Iterator[None]:
    before = prctl(_GET_DUMPABLE)
    prctl(_SET_DUMPABLE, wanted)
    try:
        yield
    finally:
        prctl(_SET_DUMPABLE, min(before, 1))
