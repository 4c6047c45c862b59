"""The number of workers follows what the process may really use."""

import os
import resource
from pathlib import Path

import pytest

from podium.execution.executor import available_workers

pytestmark = pytest.mark.slow

AFFINITY = len(os.sched_getaffinity(0))


@pytest.fixture(autouse=True)
def no_cap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PODIUM_MAX_WORKERS", raising=False)


def test_without_limits_it_is_the_affinity(tmp_path: Path) -> None:
    assert available_workers(cgroup=tmp_path) == AFFINITY


def test_affinity_narrows(tmp_path: Path) -> None:
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        assert available_workers(cgroup=tmp_path) == 1
    finally:
        os.sched_setaffinity(0, before)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"cpu.max": "100000 100000"}, 1),
        ({"cpu.max": "50000 100000"}, 1),
        ({"cpu.max": "150000 100000"}, min(2, AFFINITY)),
        ({"cpu.max": "max 100000"}, AFFINITY),
        ({"cpu.max": "99900000 100000"}, AFFINITY),
        ({"cpu.max": "x"}, AFFINITY),
        ({"cpu/cpu.cfs_quota_us": "100000", "cpu/cpu.cfs_period_us": "100000"}, 1),
        ({"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, AFFINITY),
        ({"cpu/cpu.cfs_quota_us": "", "cpu/cpu.cfs_period_us": "100000"}, AFFINITY),
    ],
)
def test_quotas_of_both_versions_of_cgroups(files: dict[str, str], expected: int, tmp_path: Path) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert available_workers(cgroup=tmp_path) == expected


GIGABYTE = 1_000_000_000


@pytest.fixture
def eight_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(8)))


@pytest.mark.usefixtures("eight_cores")
@pytest.mark.parametrize(
    ("file", "text", "data_limit", "expected"),
    [
        ("memory.max", "max", None, 8),
        ("memory.max", f"{8 * GIGABYTE}", None, 5),
        ("memory.max", f"{32 * GIGABYTE}", None, 8),
        ("memory.max", f"{8 * GIGABYTE}", 7 * GIGABYTE, 4),  # the platform: 8 GB, of which 7 are usable
        ("memory.max", f"{4 * GIGABYTE}", 7 * GIGABYTE, 2),
        ("memory.max", "max", GIGABYTE, 1),
        ("memory.max", "", 3 * GIGABYTE, 2),
        ("memory/memory.limit_in_bytes", f"{4 * GIGABYTE}", None, 2),
        ("memory/memory.limit_in_bytes", "9223372036854771712", None, 8),
    ],
)
def test_every_worker_has_memory(file: str, text: str, data_limit: int | None, expected: int, tmp_path: Path) -> None:
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).write_text(text)
    before = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (data_limit or before[0], before[1]))
    try:
        assert available_workers(cgroup=tmp_path) == expected
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)


@pytest.mark.parametrize(
    ("cap", "expected"), [("1", 1), ("", AFFINITY), ("0", AFFINITY), ("many", AFFINITY), ("999", AFFINITY)]
)
def test_the_cap_of_the_environment(cap: str, expected: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PODIUM_MAX_WORKERS", cap)
    assert available_workers(cgroup=tmp_path) == expected
