"""How a decoder locks itself in: every layer that the kernel has, each on its own."""

import os
import platform
from collections.abc import Callable, Sequence
from contextlib import suppress

from podium.sandbox.landlock import landlock_abi, restrict_to
from podium.sandbox.limits import Limits, limit_resources, refuse_new_privileges
from podium.sandbox.paths import OneFile
from podium.sandbox.seccomp import FilterProgram, has_seccomp

LANDLOCK, SECCOMP, RLIMITS = "Landlock", "seccomp", "resource limits"
LAYERS = (LANDLOCK, SECCOMP, RLIMITS)


def available_layers() -> Sequence[str]:
    """The layers that this kernel has."""
    found = {LANDLOCK: landlock_abi() > 0, SECCOMP: has_seccomp(), RLIMITS: True}
    return [layer for layer in LAYERS if found[layer]]


class Lock:
    """A lock made ready by the zygote, which leaves less to do in every decoder."""

    def __init__(self, layers: Sequence[str], limits: Limits) -> None:
        resources = limits.resources()
        self.file_system: OneFile | None = None
        if SECCOMP in layers:
            program = FilterProgram(platform.machine())
            self.file_system = OneFile()
            self.file_system.answer_calls()
        steps: dict[str, Callable[[int], object]] = {
            RLIMITS: lambda _: limit_resources(resources),
            LANDLOCK: lambda readable: restrict_to([readable]),
            SECCOMP: lambda _: program.refuse_other_calls(os.getpid()),
        }
        # Their order matters: each layer refuses what those before it need.
        self._steps = {layer: step for layer, step in steps.items() if layer in layers}

    def put_in_force(self, readable: int) -> list[str]:
        """Lock this process in, for good; the layers in force, for the worker to judge.

        `readable` is a descriptor of the only file that may be opened.
        """
        refuse_new_privileges()
        in_force = []
        for layer, step in self._steps.items():
            with suppress(OSError):
                step(readable)
                in_force.append(layer)
        return in_force
