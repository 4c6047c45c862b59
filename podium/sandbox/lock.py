"""How a decoder locks itself in, by every layer that the kernel has.

The danger: code in a submitted file has taken over the decoder and makes system calls of its own. Resource limits
(`podium/kernel.py`) bound memory and time. Landlock lets the process open one file for reading and nothing else. A
seccomp filter refuses every system call that decoding does not need; calls that name a path are answered inside the
process, with the one file that it was given. `test/sandbox/attacks.py` lists what each layer refuses.
"""

import ctypes
import errno
import fcntl
import mmap
import os
import platform
import re
import signal
import struct
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from podium.kernel import (
    LANDLOCK_ADD_RULE,
    LANDLOCK_CREATE_RULESET,
    LANDLOCK_RESTRICT_SELF,
    LIBC,
    SECCOMP_CALLS,
    Limits,
    is_linux,
    limit_resources,
    refuse_new_privileges,
    syscall,
)

LANDLOCK, SECCOMP, RLIMITS = "Landlock", "seccomp", "resource limits"
LAYERS = (LANDLOCK, SECCOMP, RLIMITS)


def available_layers() -> Sequence[str]:
    """The layers that this kernel has."""
    found = {LANDLOCK: landlock_abi() > 0, SECCOMP: has_seccomp(), RLIMITS: True}
    return [layer for layer in LAYERS if found[layer]]


class Lock:
    """A lock, prepared by the zygote so that little is left to do in every decoder."""

    def __init__(self, layers: Sequence[str], limits: Limits) -> None:
        self._layers = layers
        self._resources = limits.resources()
        self.file_system: OneFile | None = None
        if SECCOMP in layers:
            self._program = filter_program(platform.machine())
            self.file_system = OneFile()

    def apply(self, readable: int) -> list[str]:
        """Lock this process in, for good.

        Args:
            readable: A descriptor of the only file that may be opened.

        Returns:
            The layers that apply now, for the worker to check.
        """
        refuse_new_privileges()
        restrictions: Mapping[str, Callable[[], None]] = {  # in this order: each refuses what those before it need
            RLIMITS: lambda: limit_resources(self._resources),
            LANDLOCK: lambda: restrict_to(readable),
            SECCOMP: lambda: refuse_other_calls(self._program),
        }
        applied = []
        for layer, restrict in restrictions.items():
            with suppress(OSError):
                if layer in self._layers:
                    restrict()
                    applied.append(layer)
        return applied


# Landlock (Linux 5.13): what the kernel can refuse depends on its ABI; everything it can refuse is refused.
# See landlock(7).

_VERSION_FLAG = 1
_PATH_BENEATH = 1
_READ_FILE = 1 << 2

# The number of file system rights, the network rights and the scopes that an ABI and those after it know.
_FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 5: 16}
_NETWORK_SINCE, _NETWORK = 4, 0b11  # bind and connect TCP
_SCOPES_SINCE, _SCOPES = 6, 0b11  # abstract UNIX sockets, signals


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scopes", ctypes.c_uint64))


class _PathRule(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("descriptor", ctypes.c_int32))


def landlock_abi() -> int:
    """The kernel's version of Landlock, 0 where it has none or it is switched off."""
    if not is_linux():
        return 0
    try:
        return syscall(LANDLOCK_CREATE_RULESET, None, 0, _VERSION_FLAG)
    except OSError:
        return 0


def restrict_to(descriptor: int) -> None:
    """Allow reading the file behind `descriptor`, which may also be opened again by its path, and nothing else.

    The rule belongs to the file itself, not to its name: what takes its name later cannot be opened. Needs
    `no_new_privs`. OSError where the kernel has no Landlock.
    """
    abi = syscall(LANDLOCK_CREATE_RULESET, None, 0, _VERSION_FLAG)
    rights = max(count for since, count in _FILE_RIGHTS.items() if since <= abi)
    rules = _Ruleset(
        (1 << rights) - 1, _NETWORK if abi >= _NETWORK_SINCE else 0, _SCOPES if abi >= _SCOPES_SINCE else 0
    )
    size = 24 if abi >= _SCOPES_SINCE else 16 if abi >= _NETWORK_SINCE else 8
    ruleset = syscall(LANDLOCK_CREATE_RULESET, ctypes.byref(rules), size, 0)
    rule = _PathRule(_READ_FILE, descriptor)
    syscall(LANDLOCK_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(rule), 0)
    syscall(LANDLOCK_RESTRICT_SELF, ruleset, 0)


# The seccomp filter: the kernel refuses this process every system call that decoding does not need.
#
# No new processes, no programs, no sockets, no opening, no signals to others, no looking into other processes, no
# memory that is both new and executable. See seccomp(2) and, for the program, the kernel's classic BPF.

_AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32_BIT = 0x40000000  # x86_64 has a second table of calls behind this bit

_KILL, _TRAP, _ERRNO, _ALLOW = 0x80000000, 0x00030000, 0x00050000, 0x7FFF0000
_SET_MODE_FILTER, _GET_ACTION = 1, 2

_LOAD, _RETURN = 0x20, 0x06
_IF_EQUAL, _IF_AT_LEAST, _IF_ANY_BIT = 0x15, 0x35, 0x45
_NUMBER_AT, _MACHINE_AT, _ARGUMENTS_AT = 0, 4, 16

# F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_DUPFD_CLOEXEC. Not F_SETOWN: it makes the kernel send signals to others.
_FCNTL_COMMANDS = (0, 1, 2, 3, 1030)

_MAP_GROWSDOWN = 0x100
_STEP_BYTES = 8


def has_seccomp() -> bool:
    """Whether the kernel filters system calls, and we know those of the machine."""
    if not is_linux() or platform.machine() not in MACHINES:
        return False
    try:
        action = ctypes.c_uint32(_ERRNO)
        return syscall(SECCOMP_CALLS[platform.machine()], _GET_ACTION, 0, ctypes.byref(action)) == 0
    except OSError:
        return False


def refuse_other_calls(program: bytes) -> None:
    """Apply a filter to this process, for good. Needs `no_new_privs`; OSError without seccomp."""
    memory = ctypes.create_string_buffer(program, len(program))
    described = struct.pack("HxxxxxxQ", len(program) // _STEP_BYTES, ctypes.addressof(memory))
    syscall(SECCOMP_CALLS[platform.machine()], _SET_MODE_FILTER, 0, ctypes.c_char_p(described))


def filter_program(machine: str) -> bytes:
    """The filter of a machine, one of MACHINES."""
    program = [_step(_LOAD, _MACHINE_AT), *_return_unless(_AUDIT_ARCH[machine], _KILL), _step(_LOAD, _NUMBER_AT)]
    if machine == "x86_64":
        program += [_step(_IF_AT_LEAST, _X32_BIT, 0, 1), _step(_RETURN, _KILL)]
    conditions = _conditions()
    for name, number in numbers_of(machine).items():
        body = conditions.get(name, [_step(_RETURN, _ALLOW)])
        program += [_step(_IF_EQUAL, number, 0, len(body)), *body]
    return b"".join([*program, _refusal(errno.EPERM)])


def _conditions() -> Mapping[str, list[bytes]]:
    """The checks of those calls that are not simply allowed."""
    allow = _step(_RETURN, _ALLOW)
    not_executable = [_load(2), _step(_IF_ANY_BIT, mmap.PROT_EXEC, 0, 1), _refusal(errno.EPERM), allow]
    zero = _return_unless(0, _ERRNO | errno.EPERM)
    query = [_load(0), *zero, _load(2), *zero, _load(2, half=1), *zero, allow]
    return {
        **{name: [_step(_RETURN, _TRAP)] for name in ANSWERED_HERE},
        "mmap": [
            _load(3),
            # Memory that no limit on data counts is refused: growing stacks, and shared memory without a file.
            _step(_IF_ANY_BIT, _MAP_GROWSDOWN, 2, 0),
            _step(_IF_ANY_BIT, mmap.MAP_ANONYMOUS, 0, 2),
            _step(_IF_ANY_BIT, mmap.MAP_SHARED, 0, 1),
            _refusal(errno.EPERM),
            *not_executable,
        ],
        "mprotect": not_executable,
        "fcntl": [
            _load(1),
            *(step for command in _FCNTL_COMMANDS for step in (_step(_IF_EQUAL, command, 0, 1), allow)),
            _refusal(errno.EPERM),
        ],
        "ioctl": [_refusal(errno.ENOTTY)],  # what a regular file answers
        "prlimit64": query,  # limits of this process, without new ones
    }


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, value)


def _return_unless(value: int, result: int) -> list[bytes]:
    return [_step(_IF_EQUAL, value, 1, 0), _step(_RETURN, result)]


def _refusal(code: int) -> bytes:
    return _step(_RETURN, _ERRNO | code)


def _load(argument: int, *, half: int = 0) -> bytes:
    """Load the low half of an argument of the call, or the high one (1)."""
    return _step(_LOAD, _ARGUMENTS_AT + 8 * argument + 4 * half)


# The system calls a decoder needs, by machine. Whatever is not here is refused to it.
#
# Taken from strace of every reader under this filter; names are the kernel's, numbers those of its tables
# (arch/x86/entry/syscalls/syscall_64.tbl, include/uapi/asm-generic/unistd.h), in the order of MACHINES;
# -: there is none.

MACHINES = ("x86_64", "aarch64")

_CALLS = """
# reading what is open, and the one channel to the worker
read 0 63              pread64 17 67          readv 19 65            preadv 295 69          lseek 8 62
write 1 64             writev 20 66           sendto 44 206          recvfrom 45 207        sendmsg 46 211
recvmsg 47 212         poll 7 -               ppoll 271 73
# opening and looking: answered by `OneFile` where a path is named
open 2 -               openat 257 56          close 3 57             dup 32 23              dup2 33 -
dup3 292 24            fcntl 72 25            ioctl 16 29            stat 4 -               lstat 6 -
fstat 5 80             newfstatat 262 79      access 21 -            faccessat 269 48       faccessat2 439 439
getcwd 79 17
# memory
mmap 9 222             mprotect 10 226        munmap 11 215          mremap 25 216          madvise 28 233
brk 12 214
# this process
rt_sigaction 13 134    rt_sigprocmask 14 135  rt_sigreturn 15 139    sigaltstack 131 132    restart_syscall 219 128
getpid 39 172          getppid 110 173        gettid 186 178         getuid 102 174         geteuid 107 175
getgid 104 176         getegid 108 177        prlimit64 302 261      getrusage 98 165       times 100 153
sched_yield 24 124     sched_getaffinity 204 123  futex 202 98           set_robust_list 273 99  rseq 334 293
membarrier 324 283     exit 60 93             exit_group 231 94
# the machine
uname 63 160           sysinfo 99 179         getrandom 318 278      gettimeofday 96 169    clock_gettime 228 113
clock_getres 229 114   clock_nanosleep 230 115  nanosleep 35 101
"""


def numbers_of(machine: str) -> Mapping[str, int]:
    """The numbers of the calls a decoder needs on `machine`, one of MACHINES."""
    words = re.sub("#.*", "", _CALLS).split()
    calls = zip(words[::3], words[1 + MACHINES.index(machine) :: 3], strict=True)
    return {name: int(number) for name, number in calls if number != "-"}


# System calls that name a path, answered inside the decoder: the kernel carries none of them out.
#
# A filter cannot see which path a call names. So it lets no call open anything, and the libraries, which open files
# by name only, get this instead: seccomp turns the call into a signal, and its handler returns a descriptor of the
# one file, which was opened before. Code that has taken over the process may do what it likes with the handler: there
# is no other file to get.

OPENED = (4, 5, 6)  # the file, opened several times: each descriptor has its own position
HANDED_OUT = (10, 11, 12)  # the numbers under which the libraries get them: above those that other calls hand out first
ANSWERED_HERE = ("open", "openat", "stat", "lstat", "newfstatat", "access", "faccessat", "faccessat2")

# struct ucontext: where the first four arguments of the call and its result are.
_SIGNAL_ARGUMENTS_AT = {"x86_64": (104, 112, 136, 56), "aarch64": (184, 192, 200, 208)}
_RESULT_AT = {"x86_64": 144, "aarch64": 184}
_SIGNAL_NUMBER_AT = 24  # in siginfo
_WITH_DETAILS = 4  # SA_SIGINFO

_Handler = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)


class _Action(ctypes.Structure):
    _fields_ = (
        ("handler", _Handler),
        ("mask", ctypes.c_ulong * (1024 // (8 * ctypes.sizeof(ctypes.c_ulong)))),
        ("flags", ctypes.c_int),
        ("restorer", ctypes.c_void_p),
    )


class OneFile:
    """Replaces the file system in a process that can open nothing: it has one file. Calls that the filter turns into a
    signal are handled from now on, in this process and those forked from it."""

    def __init__(self) -> None:
        self.path = b""
        machine = platform.machine()
        numbers = numbers_of(machine)
        self._fstat = numbers["fstat"]
        self._arguments_at, self._result_at = _SIGNAL_ARGUMENTS_AT[machine], _RESULT_AT[machine]
        answers: Mapping[str, Callable[..., int]] = {
            "open": lambda path, flags, *_: self._open(path, flags),
            "openat": lambda _folder, path, flags, _mode: self._open(path, flags),
            **dict.fromkeys(("stat", "lstat"), lambda path, found, *_: self._stat(path, found)),
            "newfstatat": self._stat_at,
            "access": lambda path, *_: self._access(path),
            **dict.fromkeys(("faccessat", "faccessat2"), lambda _folder, path, *_: self._access(path)),
        }
        self._answers = {numbers[name]: answers[name] for name in ANSWERED_HERE if name in numbers}
        self._action = _Action(_Handler(self._on_signal), flags=_WITH_DETAILS)
        if LIBC.sigaction(signal.SIGSYS, ctypes.byref(self._action), None):
            raise OSError("SIGSYS cannot be handled")

    def _on_signal(self, _: int, details: int, context: int) -> None:
        number = ctypes.c_int.from_address(details + _SIGNAL_NUMBER_AT).value
        given = [ctypes.c_ulong.from_address(context + place).value for place in self._arguments_at]
        try:
            result = self._answers[number](*given)
        except OSError as fault:
            result = -(fault.errno or errno.EACCES)
        ctypes.c_long.from_address(context + self._result_at).value = result

    def _check(self, path: int) -> None:
        """Refuse every other path; imports look for modules, too."""
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

    def _stat_at(self, descriptor: int, path: int, found: int, _flags: int) -> int:
        if ctypes.string_at(path):
            return self._stat(path, found)
        return syscall(self._fstat, descriptor, ctypes.c_void_p(found))

    def _access(self, path: int) -> int:
        self._check(path)
        return 0


def all_descriptors_closed() -> bool:
    """Whether the libraries have closed all descriptors that they were given."""
    return not any(_is_open(number) for number in HANDED_OUT)


def _is_open(descriptor: int) -> bool:
    """Without `os.fstat`, which is one of these calls itself."""
    with suppress(OSError):
        return fcntl.fcntl(descriptor, fcntl.F_GETFD) >= 0
    return False
