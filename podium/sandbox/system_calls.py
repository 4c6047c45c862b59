"""The system calls a decoder needs, by machine. Whatever is not here is refused to it.

Taken from strace of every reader under this filter; names are the kernel's, numbers those of its tables
(arch/x86/entry/syscalls/syscall_64.tbl, include/uapi/asm-generic/unistd.h). None: the machine has no such call.
"""

from collections.abc import Mapping

MACHINES = ("x86_64", "aarch64")

_NUMBERS: Mapping[str, tuple[int | None, int | None]] = {
    # reading what is open, and the one channel to the worker
    "read": (0, 63),
    "pread64": (17, 67),
    "readv": (19, 65),
    "preadv": (295, 69),
    "lseek": (8, 62),
    "write": (1, 64),
    "writev": (20, 66),
    "sendto": (44, 206),
    "recvfrom": (45, 207),
    "sendmsg": (46, 211),
    "recvmsg": (47, 212),
    "poll": (7, None),
    "ppoll": (271, 73),
    # opening and looking: answered by paths.py where a path is named
    "open": (2, None),
    "openat": (257, 56),
    "close": (3, 57),
    "dup": (32, 23),
    "dup2": (33, None),
    "dup3": (292, 24),
    "fcntl": (72, 25),
    "ioctl": (16, 29),
    "stat": (4, None),
    "lstat": (6, None),
    "fstat": (5, 80),
    "newfstatat": (262, 79),
    "access": (21, None),
    "faccessat": (269, 48),
    "faccessat2": (439, 439),
    "getcwd": (79, 17),
    # memory
    "mmap": (9, 222),
    "mprotect": (10, 226),
    "munmap": (11, 215),
    "mremap": (25, 216),
    "madvise": (28, 233),
    "brk": (12, 214),
    # this process
    "rt_sigaction": (13, 134),
    "rt_sigprocmask": (14, 135),
    "rt_sigreturn": (15, 139),
    "sigaltstack": (131, 132),
    "restart_syscall": (219, 128),
    "getpid": (39, 172),
    "getppid": (110, 173),
    "gettid": (186, 178),
    "getuid": (102, 174),
    "geteuid": (107, 175),
    "getgid": (104, 176),
    "getegid": (108, 177),
    "tgkill": (234, 131),
    "prlimit64": (302, 261),
    "getrusage": (98, 165),
    "times": (100, 153),
    "sched_yield": (24, 124),
    "sched_getaffinity": (204, 123),
    "futex": (202, 98),
    "set_robust_list": (273, 99),
    "rseq": (334, 293),
    "membarrier": (324, 283),
    "exit": (60, 93),
    "exit_group": (231, 94),
    # the machine
    "uname": (63, 160),
    "sysinfo": (99, 179),
    "getrandom": (318, 278),
    "gettimeofday": (96, 169),
    "clock_gettime": (228, 113),
    "clock_getres": (229, 114),
    "clock_nanosleep": (230, 115),
    "nanosleep": (35, 101),
}


def numbers_of(machine: str) -> Mapping[str, int]:
    """The numbers of the calls a decoder needs on `machine`, one of MACHINES."""
    column = MACHINES.index(machine)
    return {name: number for name, both in _NUMBERS.items() if (number := both[column]) is not None}
