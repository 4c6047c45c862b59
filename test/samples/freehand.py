"""Writes the freehand samples: references as TUS-REC releases them, and three teams' submissions."""

import shutil
import zipfile
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from literal.freehand import Displacements
from numpy.typing import NDArray

from samples.algorithm_submission import JobFolder, random_id
from samples.freehand_scans import IMAGE_TO_TOOL, PIXEL_TO_MM, PLANS, SEED, scans
from samples.freehand_teams import C_SHAPE, LINE, MISSING, NOT_A_NUMBER, S_SHAPE, STRAY_SCAN, TURN, teams
from samples.same_bytes import write_hdf5, write_json

REFERENCES = Path("ground-truth/freehand/references")
SUBMISSIONS = Path("test/submissions/freehand")
FOLDERS = (REFERENCES, SUBMISSIONS)


def write_samples(root: Path) -> None:
    """Everything below `root`, which is laid out like the repository; what stood there before is removed."""
    for folder in FOLDERS:
        shutil.rmtree(root / folder, ignore_errors=True)
    write_references(root / REFERENCES)
    write_fathom(root / SUBMISSIONS / "fathom")
    write_gyro(root / SUBMISSIONS / "gyro")
    write_wander(root / SUBMISSIONS / "wander")


def write_references(folder: Path) -> None:
    for plan in PLANS:
        poses = scans()[plan.name].tool_to_camera
        write_hdf5(folder / "transfs" / plan.subject / f"{plan.scan}.h5", {"tforms": poses})
    for subject in sorted({plan.subject for plan in PLANS}):
        rows = {plan.scan: scans()[plan.name].landmarks for plan in PLANS if plan.subject == subject}
        write_hdf5(folder / "landmark" / f"landmark_{subject}.h5", rows)
    write_hdf5(folder / "dataset_keys.h5", {plan.name: np.array(plan.frames) for plan in PLANS})
    lines = ["scaling_from_pixel_to_mm,,,", *rows_of(PIXEL_TO_MM)]
    lines += ["spatial_calibration_from_image_coordinate_system_to_tracking_tool_coordinate_system,,,"]
    (folder / "calib_matrix.csv").write_text("\n".join([*lines, *rows_of(IMAGE_TO_TOOL)]) + "\n", encoding="utf-8")


def rows_of(matrix: NDArray[np.float64]) -> list[str]:
    return [",".join(repr(float(value)) for value in row) for row in matrix]


def stored(answer: Displacements, dtype: Any) -> dict[str, NDArray[Any]]:
    sets = {"GP": answer.gp, "GL": answer.gl, "LP": answer.lp, "LL": answer.ll}
    return {name: values.astype(dtype) for name, values in sets.items()}


def write_fathom(folder: Path) -> None:
    """Every form a field may come in: .npy files, .npz, and HDF5 in frames or in chunks that fit nothing."""
    answers = teams()["fathom"].answers
    for name, values in stored(answers[TURN], np.float16).items():
        write_npy(folder / TURN / f"{name}.npy", values)
    write_npz(folder / f"{LINE}.npz", stored(answers[LINE], np.float16))
    write_fields(folder / f"{C_SHAPE}.h5", stored(answers[C_SHAPE], np.float32))
    write_fields(folder / f"{S_SHAPE}.h5", stored(answers[S_SHAPE], ">f4"), chunks=(7, 2, 500))
    write_json(folder / "runtime.json", dict(teams()["fathom"].runtimes or {}))


def write_gyro(folder: Path) -> None:
    """An algorithm submission of transforms: local alone, global alone, both, and with landmarks beside them."""
    team = teams()["gyro"]
    rng = np.random.default_rng([SEED, 9000])
    jobs = []
    for number, case in enumerate(team.answers):
        globals_, locals_ = team.transforms[case]
        answer = team.answers[case]
        arrays = {
            LINE: {"local_transforms": locals_},
            C_SHAPE: {"global_transforms": globals_},
            S_SHAPE: {"global_transforms": globals_, "local_transforms": locals_, "LL": answer.ll},
            TURN: {"local_transforms": locals_, "GL": answer.gl, "LL": answer.ll},
        }[case]
        job = JobFolder(folder, random_id(rng), rng)
        ending = ".zip" if case == TURN else ".h5"
        path = job.output / f"displacement-fields{ending}"
        (write_npz if ending == ".zip" else write_hdf5)(path, arrays)
        inputs = [job.file("freehand-ultrasound-frames", f"{case}.h5")]
        inputs.append(job.file("landmark-coordinates", "landmarks.h5"))
        if number % 2:  # the order of sockets means nothing
            inputs.reverse()
        outputs, duration = [job.file("displacement-fields", path.name)], f"PT{(team.runtimes or {})[case]:g}S"
        jobs.append(job.job(inputs=inputs, outputs=outputs, exec_duration=duration))
    write_json(folder / "predictions.json", [jobs[place] for place in rng.permutation(len(jobs))])


def write_wander(folder: Path) -> None:
    """Loose HDF5 files, one folder too deep; one holds a NaN, one is not there, one is of a scan nobody knows."""
    team = teams()["wander"]
    for case, answer in team.answers.items():
        fault = team.faults.get(case)
        arrays = stored(answer, np.float32)
        if fault == MISSING:
            continue
        if fault == NOT_A_NUMBER:
            arrays["LP"][11, 1, 1234] = np.nan
        write_fields(folder / "predictions" / f"{case}.h5", arrays)
    transforms = np.tile(np.eye(4), (3, 1, 1))
    write_hdf5(folder / "predictions" / f"{STRAY_SCAN}.h5", {"local_transforms": transforms})


def write_fields(path: Path, arrays: Mapping[str, NDArray[Any]], *, chunks: tuple[int, int, int] | None = None) -> None:
    """The recommended HDF5: chunks of one frame unless told otherwise, shuffled, gzip level 1."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with h5py.File(path, "w", track_order=False) as file:
        for name in sorted(arrays):
            values = arrays[name]
            packed: dict[str, Any] = {}
            if values.ndim == 3:
                cut = chunks or (1, *values.shape[1:])
                packed = {"chunks": cut, "shuffle": True, "compression": "gzip", "compression_opts": 1}
            file.create_dataset(name, data=values, track_times=False, **packed)


def write_npy(path: Path, values: NDArray[Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    np.save(path, values)


def write_npz(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Deflated, dated to the epoch of zip files."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for name in sorted(arrays):
            content = BytesIO()
            np.save(content, arrays[name])
            member = zipfile.ZipInfo(f"{name}.npy")
            member.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(member, content.getvalue(), compresslevel=9)
