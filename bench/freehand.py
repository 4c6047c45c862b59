"""Times the freehand challenge on synthetic sweeps of 480x640 px against a literal torch reading and plain reading.

    python bench/freehand.py [FRAMES_SHORT FRAMES_LONG]

Writes some 15 GB below the temporary folder (TMPDIR) and removes them.
Every measurement runs in a process of its own, the best of a few; those that are compared take turns.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import time
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import h5py
import numpy as np
from numpy.typing import NDArray

HEIGHT, WIDTH = 480, 640
PIXELS = HEIGHT * WIDTH
THREADS = 2
REPEATS = 3
SEED = 20_260
SCAN = "sub050__LH_Par_S_DtP"

# The published calibration's pixel size; the probe's place on the tool is made up but of its order.
PIXEL_TO_MM = np.diag([0.229389190673828, 0.220979690551758, 1.0, 1.0])
IMAGE_TO_TOOL = np.array(
    [[0.06, -0.99, 0.12, 20.0], [0.05, 0.12, 0.99, -84.0], [-0.99, -0.06, 0.06, 3.0], [0, 0, 0, 1]]
)


def sweep(frames: int) -> NDArray[np.float64]:
    """Poses of the tool on an S along a forearm, with the tremor of a hand."""
    rng = np.random.default_rng(SEED)
    tremor = np.cumsum(rng.normal(scale=0.03, size=(frames, 3)), axis=0)
    poses = np.tile(np.eye(4), (frames, 1, 1))
    for frame, t in enumerate(np.linspace(0, 1, frames)):
        angle = 0.3 * np.sin(2 * np.pi * t)
        poses[frame, :3, :3] = [[np.cos(angle), 0, np.sin(angle)], [0, 1, 0], [-np.sin(angle), 0, np.cos(angle)]]
        poses[frame, :3, 3] = np.array([30 * np.sin(2 * np.pi * t), 5 * t, 180 * t]) + tremor[frame]
    return poses


def guessed_transforms(poses: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Global and local transforms of a method that drifts a little."""
    from podium.metrics.displacement import chained, local_transforms

    rng = np.random.default_rng(SEED + 1)
    local = local_transforms(poses, IMAGE_TO_TOOL)
    local[:, :3, 3] += rng.normal(scale=0.05, size=(len(local), 3))
    return chained(local), local


def write_truth(folder: Path, poses: NDArray[np.float64]) -> None:
    references = folder / "references"
    (references / "transfs/050").mkdir(parents=True)
    (references / "landmark").mkdir()
    with h5py.File(references / "transfs/050/LH_Par_S_DtP.h5", "w") as file:
        file["tforms"] = poses
    with h5py.File(references / "landmark/landmark_050.h5", "w") as file:
        file["LH_Par_S_DtP"] = np.array([[1, 1, 1], [len(poses) - 1, WIDTH, HEIGHT], [5, 100, 200]])
    rows = [["S"], *PIXEL_TO_MM.tolist(), ["C"], *IMAGE_TO_TOOL.tolist()]
    text = "".join(",".join(str(value) for value in row) + "\n" for row in rows)
    (references / "calib_matrix.csv").write_text(text, encoding="utf-8")


def write_fields(folder: Path, transforms: tuple[NDArray[np.float64], NDArray[np.float64]]) -> None:
    """GP.npy and LP.npy in float32, frame by frame, and landmarks that do not move."""
    from podium.metrics.displacement import field_coefficients

    folder.mkdir(parents=True)
    x, y = np.tile(np.arange(1.0, WIDTH + 1), HEIGHT), np.repeat(np.arange(1.0, HEIGHT + 1), WIDTH)
    for name, matrices in zip(("GP", "LP"), transforms, strict=True):
        with (folder / f"{name}.npy").open("wb") as stream:
            header = {"descr": "<f4", "fortran_order": False, "shape": (len(matrices), 3, PIXELS)}
            np.lib.format.write_array_header_1_0(stream, header)
            for coefficients in field_coefficients(matrices, PIXEL_TO_MM):
                frame = np.stack([a + b * x + c * y for a, b, c in coefficients]).astype(np.float32)
                stream.write(frame.tobytes())
    for name in ("GL", "LL"):
        np.save(folder / f"{name}.npy", np.zeros((3, 3)))


# What is measured; each runs in a process of its own and prints its seconds


def score(truth: Path, submission: Path) -> float:
    """One scan by the challenge itself, identity errors included."""
    from podium.challenges import challenge_from_settings
    from podium.platform.submission import open_submission

    challenge = challenge_from_settings("freehand", "freehand", {"freehand": {"edition": "2024"}})
    challenge.threads = THREADS
    references = challenge.find_references(truth / "references")
    with open_submission(submission, max_bytes=1) as opened:
        prediction = challenge.pair(opened, references).predictions[SCAN]
        return timed(lambda: challenge.score(prediction, challenge.read_reference(references[SCAN])))


def literal(truth: Path, submission: Path) -> float:
    import torch
    from literal_torch import pixel_errors

    torch.set_num_threads(THREADS)
    with h5py.File(truth / "references/transfs/050/LH_Par_S_DtP.h5") as file:
        poses = file["tforms"][()]
    calibration = {"pixel_to_mm": PIXEL_TO_MM, "image_to_tool": IMAGE_TO_TOOL}
    folder = submission / SCAN
    return timed(lambda: pixel_errors(poses, **calibration, size=(HEIGHT, WIDTH), folder=folder))


def plain_read(_: Path, submission: Path) -> float:
    """Both fields read from end to end into one buffer of 4 MB, by one thread."""
    buffer = bytearray(1 << 22)

    def read() -> None:
        for name in ("GP", "LP"):
            with (submission / SCAN / f"{name}.npy").open("rb", buffering=0) as stream:
                while stream.readinto(buffer):
                    pass

    return timed(read)


def inflate_alone(_: Path, submission: Path) -> float:
    """Every chunk of both fields through zlib and nothing else, by as many threads as the score may use."""
    with h5py.File(submission / f"{SCAN}.h5") as file:
        datasets = [file[name] for name in ("GP", "LP")]

        def inflate(place: tuple[int, int]) -> None:
            field, frame = place
            zlib.decompress(datasets[field].id.read_direct_chunk((frame, 0, 0))[1])

        places = [(field, frame) for field in range(2) for frame in range(len(datasets[0]))]

        def run() -> None:
            with ThreadPoolExecutor(THREADS) as pool:
                list(pool.map(inflate, places))

        return timed(run)


def library_read(_: Path, submission: Path) -> float:
    """Both fields frame by frame through h5py, which unpacks in one thread."""
    with h5py.File(submission / f"{SCAN}.h5") as file:
        frame = np.empty((3, PIXELS), np.float32)

        def run() -> None:
            for name in ("GP", "LP"):
                for number in range(len(file[name])):
                    file[name].read_direct(frame, np.s_[number])

        return timed(run)


MEASURES: dict[str, Callable[[Path, Path], float]] = {
    each.__name__: each for each in (score, literal, plain_read, inflate_alone, library_read)
}


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def peak_megabytes() -> float:
    """VmHWM. Not ru_maxrss: a child inherits that from the process that started it, however large it was."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(re.findall(r"VmHWM:\s+(\d+) kB", status)[0]) / 1024


def measure_here(name: str, truth: Path, submission: Path) -> None:
    """In the child: seconds, and memory beyond what was there once everything was imported."""
    import podium.challenges.freehand.scoring
    import podium.platform.submission  # noqa: F401

    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak starts again, without that of imports
    before, cpu = peak_megabytes(), time.process_time()
    seconds = MEASURES[name](truth, submission)
    cpu = time.process_time() - cpu
    print(json.dumps({"seconds": seconds, "cpu": cpu, "megabytes": peak_megabytes() - before}))


def compare(names: list[str], truth: Path, submission: Path, *, repeats: int = REPEATS) -> dict[str, dict[str, float]]:
    """The best of some runs of each, taking turns."""
    found: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    for _ in range(repeats):
        for name in names:
            command = [sys.executable, __file__, "--measure", name, str(truth), str(submission)]
            alone = {**os.environ, "OMP_NUM_THREADS": "1"} if name != "literal" else None  # as the command line does
            done = subprocess.run(command, check=True, capture_output=True, text=True, env=alone)
            found[name].append(json.loads(done.stdout))
    return {
        name: {
            "seconds": min(run["seconds"] for run in runs),
            "cpu": min(run["cpu"] for run in runs),
            "megabytes": max(run["megabytes"] for run in runs),
        }
        for name, runs in found.items()
    }


def line(text: str, run: dict[str, float]) -> None:
    seconds = f"{run['seconds']:7.2f} s, CPU {run['cpu']:.2f} s"
    print(f"  {text:42} {seconds:28} {run['megabytes']:8.0f} MB", flush=True)


def main(short: int, long: int) -> None:
    from podium.tools.freehand import pack_scan

    print(f"load {os.getloadavg()[0]:.1f}, {THREADS} threads, best of {REPEATS}; memory beyond imports")
    with TemporaryDirectory(prefix="podium-bench-") as temporary:
        root = Path(temporary)
        for frames in (short, long):
            truth, raw = root / f"truth-{frames}", root / f"raw-{frames}"
            poses = sweep(frames)
            transforms = guessed_transforms(poses)
            write_truth(truth, poses)
            write_fields(raw / SCAN, transforms)
            gigabytes = 2 * (frames - 1) * 3 * PIXELS * 4 / 1e9
            print(f"\n{frames} frames, two fields, {gigabytes:.2f} GB of float32")
            if frames == short:
                runs = compare(["literal", "score", "plain_read"], truth, raw)
                line("literal torch", runs["literal"])
            else:
                runs = compare(["plain_read", "score"], truth, raw)
            line("podium, .npy", runs["score"])
            line("reading the files alone", runs["plain_read"])
            if frames == short:
                print(f"  -> {runs['literal']['seconds'] / runs['score']['seconds']:.1f} times faster than literal")
            speed, plain = gigabytes / runs["score"]["seconds"], gigabytes / runs["plain_read"]["seconds"]
            print(f"  -> {speed:.2f} GB/s, plain reading {plain:.2f} GB/s ({speed / plain:.0%})")

            compact = root / f"compact-{frames}"
            compact.mkdir()
            with h5py.File(compact / f"{SCAN}.h5", "w") as file:
                file["local_transforms"] = transforms[1]
            line("podium, transforms", compare(["score"], truth, compact)["score"])
            if frames == short:
                packed = root / "packed"
                start = time.perf_counter()
                result = pack_scan(raw / SCAN, output=packed, threads=THREADS)
                ratio = result.bytes_before / result.bytes_after
                print(f"  packed in {time.perf_counter() - start:.1f} s, {ratio:.1f} times smaller")
                runs = compare(["inflate_alone", "score", "library_read"], truth, packed)
                line("podium, HDF5 shuffle + gzip-1", runs["score"])
                line("zlib alone, as many threads", runs["inflate_alone"])
                line("h5py reading alone", runs["library_read"])
                for name in ("inflate_alone", "library_read"):
                    print(f"  -> {runs['score']['seconds'] / runs[name]['seconds']:.2f} times {name.replace('_', ' ')}")
            for path in (raw / SCAN).iterdir():
                path.unlink()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        measure_here(sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4]))
    else:
        parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
        parser.add_argument("frames", type=int, nargs="*", default=[300, 1400], help="short and long scan [300 1400]")
        main(*parser.parse_args().frames)
