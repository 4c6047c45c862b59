"""How many workers this process may really use: affinity, cgroup and memory limits, not the machine's size."""

import math
import os
import resource
from collections.abc import Mapping
from pathlib import Path

MAX_WORKERS_VARIABLE = "PODIUM_MAX_WORKERS"  # the platform lets no variable through that starts with GRAND_CHALLENGE_
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
"""Variables for processes that share the cores, set before a numeric library is loaded: it then has one thread."""

WORKER_BYTES = 1_500_000_000  # per worker: with fewer workers an evaluation is slower, with less memory cases fail


def available_workers(
    *,
    environment: Mapping[str, str] = os.environ,
    cgroup: Path = Path("/sys/fs/cgroup"),
    data_limit: int | None = None,
) -> int:
    """The number of workers that keeps every usable core busy, with enough memory for each; at least 1.

    `data_limit` stands in for this process's RLIMIT_DATA, by which the platform says how much memory is usable.
    """
    limits: list[float] = [len(os.sched_getaffinity(0))]
    quota = _quota_v2(cgroup) or _quota_v1(cgroup)
    if quota is not None:
        limits.append(math.ceil(quota))
    limits += [memory // WORKER_BYTES for memory in _memory_limits(cgroup, data_limit)]
    cap = environment.get(MAX_WORKERS_VARIABLE, "").strip()
    if cap.isascii() and cap.isdigit() and int(cap) > 0:
        limits.append(int(cap))
    return max(1, int(min(limits)))


def _memory_limits(cgroup: Path, data_limit: int | None) -> list[int]:
    """In bytes: cgroup v2 ("max" for no limit), cgroup v1 (a huge number for no limit) and RLIMIT_DATA."""
    words = [*_words(cgroup / "memory.max"), *_words(cgroup / "memory" / "memory.limit_in_bytes")]
    data = resource.getrlimit(resource.RLIMIT_DATA)[0] if data_limit is None else data_limit
    return [int(word) for word in words if word.isdigit()] + ([data] if data != resource.RLIM_INFINITY else [])


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
