"""A seccomp filter: from now on the kernel refuses this process every system call that decoding does not need.

No new processes, no programs, no sockets, no opening, no signals to others, no looking into other processes, no memory
that is both new and executable. See seccomp(2) and, for the program, the kernel's classic BPF.
"""

import ctypes
import errno
import mmap
import platform
import struct
from collections.abc import Mapping

from podium.kernel import SECCOMP, is_linux, syscall
from podium.sandbox.paths import ANSWERED_HERE
from podium.sandbox.system_calls import MACHINES, numbers_of

_AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32_BIT = 0x40000000  # x86_64 has a second table of calls behind this bit

_KILL, _TRAP, _ERRNO, _ALLOW = 0x80000000, 0x00030000, 0x00050000, 0x7FFF0000
_SET_MODE_FILTER, _GET_ACTION = 1, 2

_LOAD, _RETURN = 0x20, 0x06
_IF_EQUAL, _IF_AT_LEAST, _IF_ANY_BIT = 0x15, 0x35, 0x45
_NUMBER_AT, _MACHINE_AT, _ARGUMENTS_AT = 0, 4, 16

# F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_DUPFD_CLOEXEC. Not F_SETOWN: it makes the kernel send signals to others.
_FCNTL_COMMANDS = (0, 1, 2, 3, 1030)

_STEP_BYTES = 8
_OWN_PROCESS = 0xFFFFFFFF  # stands for the process's own number, which none has

Program = list[bytes]


def has_seccomp() -> bool:
    """Whether the kernel filters system calls and we know the machine's."""
    if not is_linux() or platform.machine() not in MACHINES:
        return False
    try:
        action = ctypes.c_uint32(_ERRNO)
        return syscall(SECCOMP[platform.machine()], _GET_ACTION, 0, ctypes.byref(action)) == 0
    except OSError:
        return False


class FilterProgram:
    """The filter of a machine. One number in it is the process's own: the rest is made once."""

    def __init__(self, machine: str) -> None:
        self._call = SECCOMP[machine]
        self._parts = _program(machine).split(_step(_IF_EQUAL, _OWN_PROCESS, 1, 0))

    def content(self, pid: int) -> bytes:
        """For the process `pid`."""
        return _step(_IF_EQUAL, pid, 1, 0).join(self._parts)

    def refuse_other_calls(self, pid: int) -> None:
        """Put the filter in force in this process, `pid`, for good. Needs `no_new_privs`; OSError without seccomp."""
        content = self.content(pid)
        memory = ctypes.create_string_buffer(content, len(content))
        described = struct.pack("HxxxxxxQ", len(content) // _STEP_BYTES, ctypes.addressof(memory))
        syscall(self._call, _SET_MODE_FILTER, 0, ctypes.c_char_p(described))


def _program(machine: str) -> bytes:
    numbers = numbers_of(machine)
    program = [
        _step(_LOAD, _MACHINE_AT),
        *_return_unless(_IF_EQUAL, _AUDIT_ARCH[machine], _KILL),
        _step(_LOAD, _NUMBER_AT),
    ]
    if machine == "x86_64":
        program += [_step(_IF_AT_LEAST, _X32_BIT, 0, 1), _step(_RETURN, _KILL)]
    conditions = _conditions()
    for name, number in numbers.items():
        body = conditions.get(name, [_step(_RETURN, _ALLOW)])
        program += [_step(_IF_EQUAL, number, 0, len(body)), *body]
    return b"".join([*program, _refusal(errno.EPERM)])


def _conditions() -> Mapping[str, Program]:
    """What is looked at where a call is not simply allowed."""
    allow = _step(_RETURN, _ALLOW)
    not_executable = [_low(2), _step(_IF_ANY_BIT, mmap.PROT_EXEC, 0, 1), _refusal(errno.EPERM), allow]
    itself = [_low(0), *_return_unless(_IF_EQUAL, _OWN_PROCESS, _ERRNO | errno.EPERM), allow]
    zero = _return_unless(_IF_EQUAL, 0, _ERRNO | errno.EPERM)
    asking = [_low(0), *zero, _low(2), *zero, _high(2), *zero, allow]
    return {
        **{name: [_step(_RETURN, _TRAP)] for name in ANSWERED_HERE},
        "mmap": not_executable,
        "mprotect": not_executable,
        "fcntl": [
            _low(1),
            *(step for command in _FCNTL_COMMANDS for step in (_step(_IF_EQUAL, command, 0, 1), allow)),
            _refusal(errno.EPERM),
        ],
        "ioctl": [_refusal(errno.ENOTTY)],  # what a regular file answers
        "tgkill": itself,  # abort()
        "prlimit64": asking,  # of this process, without new limits
    }


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, value)


def _return_unless(condition: int, value: int, result: int) -> Program:
    return [_step(condition, value, 1, 0), _step(_RETURN, result)]


def _refusal(code: int) -> bytes:
    return _step(_RETURN, _ERRNO | code)


def _low(argument: int) -> bytes:
    return _step(_LOAD, _ARGUMENTS_AT + 8 * argument)


def _high(argument: int) -> bytes:
    return _step(_LOAD, _ARGUMENTS_AT + 8 * argument + 4)
