"""System calls that Python has no function for."""

import ctypes
import os
import sys
from functools import cache

# The same on every machine, unlike older calls.
OPENAT2 = 437
LANDLOCK_CREATE_RULESET, LANDLOCK_ADD_RULE, LANDLOCK_RESTRICT_SELF = 444, 445, 446
SECCOMP = {"x86_64": 317, "aarch64": 277}


def is_linux() -> bool:
    return sys.platform == "linux"


@cache
def libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def syscall(number: int, *arguments: object) -> int:
    """The result of a system call; OSError where it fails. Integers are passed as 64 bits."""
    passed = [ctypes.c_long(each) if isinstance(each, int) else each for each in arguments]
    result = int(libc().syscall(ctypes.c_long(number), *passed))
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def prctl(option: int, value: int = 0) -> int:
    """Change or ask something about this process; OSError where that fails."""
    zero = ctypes.c_ulong(0)
    result = int(libc().prctl(ctypes.c_int(option), ctypes.c_ulong(value), zero, zero, zero))
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result
