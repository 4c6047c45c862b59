"""Landlock: from now on this process opens the named files for reading and nothing else (Linux 5.13).

See landlock(7). What the kernel can refuse depends on its ABI; everything it can refuse is refused.
"""

import ctypes
from collections.abc import Sequence

from podium.kernel import (
    LANDLOCK_ADD_RULE,
    LANDLOCK_CREATE_RULESET,
    LANDLOCK_RESTRICT_SELF,
    is_linux,
    syscall,
)

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


def restrict_to(descriptors: Sequence[int]) -> int:
    """Allow reading the files behind `descriptors`, which may also be opened again by their paths; the ABI in force.

    A rule belongs to the file itself, not to its name: what takes its name later cannot be opened. Needs
    `no_new_privs`. OSError where the kernel has no Landlock.
    """
    abi = syscall(LANDLOCK_CREATE_RULESET, None, 0, _VERSION_FLAG)
    rights = max(count for since, count in _FILE_RIGHTS.items() if since <= abi)
    rules = _Ruleset(
        (1 << rights) - 1, _NETWORK if abi >= _NETWORK_SINCE else 0, _SCOPES if abi >= _SCOPES_SINCE else 0
    )
    size = 24 if abi >= _SCOPES_SINCE else 16 if abi >= _NETWORK_SINCE else 8
    ruleset = syscall(LANDLOCK_CREATE_RULESET, ctypes.byref(rules), size, 0)
    for descriptor in descriptors:
        rule = _PathRule(_READ_FILE, descriptor)
        syscall(LANDLOCK_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(rule), 0)
    syscall(LANDLOCK_RESTRICT_SELF, ruleset, 0)
    return abi
