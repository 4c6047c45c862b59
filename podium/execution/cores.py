"""How many cores this process may really use: affinity, cgroup quota and the caller's cap, not the machine's."""

import math
import os
from collections.abc import Mapping
from pathlib import Path

MAX_WORKERS_VARIABLE = "PODIUM_MAX_WORKERS"  # the platform lets no variable through that starts with GRAND_CHALLENGE_


def available_workers(*, environment: Mapping[str, str] = os.environ, cgroup: Path = Path("/sys/fs/cgroup")) -> int:
    """The number of workers that keeps every usable core busy, at least 1."""
    limits: list[float] = [len(os.sched_getaffinity(0))]
    quota = _quota_v2(cgroup) or _quota_v1(cgroup)
    if quota is not None:
        limits.append(math.ceil(quota))
    cap = environment.get(MAX_WORKERS_VARIABLE, "").strip()
    if cap.isascii() and cap.isdigit() and int(cap) > 0:
        limits.append(int(cap))
    return max(1, int(min(limits)))


def _quota_v2(cgroup: Path) -> float | None:
    """`cpu.max` holds "<quota> <period>" in microseconds, or "max <period>" for no limit."""
    words = _words(cgroup / "cpu.max")
    return _ratio(words[0], words[1]) if len(words) == 2 else None


def _quota_v1(cgroup: Path) -> float | None:
    """cgroup v1 keeps quota (-1 for no limit) and period in two files."""
    for controller in (cgroup / "cpu", cgroup / "cpu,cpuacct"):
        quota, period = _words(controller / "cpu.cfs_quota_us"), _words(controller / "cpu.cfs_period_us")
        if quota and period:
            return _ratio(quota[0], period[0])
    return None


def _ratio(quota: str, period: str) -> float | None:
    if not quota.isdigit() or not period.isdigit() or int(period) == 0:
        return None
    return int(quota) / int(period) or None


def _words(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="ascii").split()
    except (OSError, UnicodeDecodeError):
        return []
