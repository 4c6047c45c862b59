"""System calls that name a path, answered inside the decoder: the kernel carries none of them out.

A filter cannot see which path a call names. So it lets no call open anything, and the libraries, which open files by
name only, get this instead: seccomp turns the call into a signal, and its handler returns a descriptor of the one file,
which was opened before. Code that has taken over the process may do as it likes with the handler: there is no other
file to be had.
"""

import ctypes
import errno
import fcntl
import os
import platform
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from podium.kernel import libc, syscall
from podium.sandbox.system_calls import numbers_of

OPENED = (4, 5, 6)
"""The file, opened several times: each has a position of its own."""

HANDED_OUT = (10, 11, 12)
"""The numbers under which the libraries get them: above those that other calls give away first."""

ANSWERED_HERE = ("open", "openat", "stat", "lstat", "newfstatat", "access", "faccessat", "faccessat2")

# struct ucontext: where the first four arguments of the call and its result are.
_ARGUMENTS_AT = {"x86_64": (104, 112, 136, 56), "aarch64": (184, 192, 200, 208)}
_RESULT_AT = {"x86_64": 144, "aarch64": 184}
_NUMBER_AT = 24  # in siginfo
_WITH_DETAILS = 4  # SA_SIGINFO

_Handler = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
_Answer = Callable[[Sequence[int]], int]


class _Action(ctypes.Structure):
    _fields_ = (
        ("handler", _Handler),
        ("mask", ctypes.c_ulong * (1024 // (8 * ctypes.sizeof(ctypes.c_ulong)))),
        ("flags", ctypes.c_int),
        ("restorer", ctypes.c_void_p),
    )


class OneFile:
    """Stands for the file system in a process that can open nothing."""

    def __init__(self) -> None:
        self.path = b""
        machine = platform.machine()
        numbers = numbers_of(machine)
        self._fstat = numbers["fstat"]
        self._arguments_at, self._result_at = _ARGUMENTS_AT[machine], _RESULT_AT[machine]
        answers: Mapping[str, _Answer] = {
            "open": lambda given: self._open(given[0], given[1]),
            "openat": lambda given: self._open(given[1], given[2]),
            "stat": lambda given: self._stat(given[0], given[1]),
            "lstat": lambda given: self._stat(given[0], given[1]),
            "newfstatat": self._stat_at,
            "access": lambda given: self._access(given[0]),
            "faccessat": lambda given: self._access(given[1]),
            "faccessat2": lambda given: self._access(given[1]),
        }
        self._answers = {numbers[name]: answers[name] for name in ANSWERED_HERE if name in numbers}
        self._action = _Action(_Handler(self._on_signal), flags=_WITH_DETAILS)

    def answer_calls(self) -> None:
        """From now on in this process and those forked from it, for every call that a filter turns into a signal."""
        if libc().sigaction(signal.SIGSYS, ctypes.byref(self._action), None):
            raise OSError("SIGSYS cannot be handled")

    def _on_signal(self, _: int, details: int, context: int) -> None:
        number = ctypes.c_int.from_address(details + _NUMBER_AT).value
        given = [ctypes.c_ulong.from_address(context + place).value for place in self._arguments_at]
        try:
            result = self._answers[number](given)
        except OSError as fault:
            result = -(fault.errno or errno.EACCES)
        ctypes.c_long.from_address(context + self._result_at).value = result

    def _check(self, path: int) -> None:
        """A module to import is not to be found in the file, either."""
        if ctypes.string_at(path) != self.path:
            raise PermissionError(errno.EACCES, "another file")

    def _open(self, path: int, flags: int) -> int:
        self._check(path)
        if flags & (os.O_WRONLY | os.O_RDWR | os.O_DIRECTORY):
            return -errno.EACCES
        for opened, number in zip(OPENED, HANDED_OUT, strict=True):
            if not _is_open(number):
                os.lseek(opened, 0, os.SEEK_SET)
                return os.dup2(opened, number, inheritable=not flags & os.O_CLOEXEC)
        return -errno.EMFILE

    def _stat(self, path: int, found: int) -> int:
        self._check(path)
        return syscall(self._fstat, OPENED[0], ctypes.c_void_p(found))

    def _stat_at(self, given: Sequence[int]) -> int:
        descriptor, path, found, _ = given
        if ctypes.string_at(path):
            return self._stat(path, found)
        return syscall(self._fstat, descriptor, ctypes.c_void_p(found))

    def _access(self, path: int) -> int:
        self._check(path)
        return 0


def are_all_returned() -> bool:
    """Whether the libraries have closed all that they got."""
    return not any(_is_open(number) for number in HANDED_OUT)


def _is_open(descriptor: int) -> bool:
    """Not by `os.fstat`: that is such a call itself."""
    with suppress(OSError):
        return fcntl.fcntl(descriptor, fcntl.F_GETFD) >= 0
    return False
