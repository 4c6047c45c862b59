"""The `podium freehand` commands: pack (participants) and plot (organisers and participants)."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from podium.cli.arguments import (
    BAKED_GROUND_TRUTH,
    Verbs,
    add_ground_truth,
    add_group,
    add_verb,
    add_workers,
    end,
)
from podium.errors import UsageError

if TYPE_CHECKING:
    from podium.challenges.format import ChallengeFolder


def add_verbs(verbs: Verbs) -> None:
    tools = add_group(verbs, "freehand", "tools of the freehand challenge: pack, plot")

    pack = add_verb(tools, "pack", _pack, "convert .npy fields to the smaller HDF5 file to upload")
    pack.add_argument(
        "scans",
        type=Path,
        nargs="+",
        metavar="SCAN",
        help="a folder with GP.npy, GL.npy, LP.npy, LL.npy, or an .npz file",
    )
    pack.add_argument("--output", type=Path, metavar="DIR", help="where to write <scan>.h5 [beside the scan]")
    add_workers(pack)

    plot = add_verb(tools, "plot", _plot, "draw a scan's trajectories and errors as PNG")
    plot.add_argument("scan", metavar="SCAN", help="the case, such as sub050__LH_Par_L_DtP")
    plot.add_argument("--input", type=Path, metavar="DIR", help="the submission [draw only the reference]")
    plot.add_argument("--output", type=Path, metavar="FILE", help="the picture to write [SCAN.png]")
    add_ground_truth(plot)
    add_workers(plot)


def _pack(options: argparse.Namespace) -> int:
    """Pack scans, one line each; the last sentence sums them up."""
    from podium.challenges.freehand.tools.pack import pack_scan

    done = []
    for scan in options.scans:
        if not scan.exists():
            raise UsageError(f"{scan} does not exist.")
        packed = pack_scan(scan, output=options.output, threads=options.workers)
        done.append(packed)
        print(f"{packed.path}: {_change(packed.bytes_before, packed.bytes_after)}", flush=True)
    before, after = sum(each.bytes_before for each in done), sum(each.bytes_after for each in done)
    scans = "1 scan" if len(done) == 1 else f"{len(done)} scans"
    return end(f"Packed {scans}, checked and complete: {_change(before, after)}.")


def _plot(options: argparse.Namespace) -> int:
    """Draw a scan's trajectories and errors."""
    from podium.challenges import load_challenge
    from podium.challenges.freehand.format import FreehandFormat
    from podium.challenges.freehand.reading import read_reference_scan
    from podium.challenges.freehand.tools.plot import draw_trajectory
    from podium.challenges.freehand.tools.trajectory import scan_trajectory
    from podium.platform.submission import open_submission
    from podium.sandbox.decoders import decoders

    folder = _folder(options)
    files = load_challenge(folder).format
    if not isinstance(files, FreehandFormat):
        raise UsageError(f"The ground truth is of a challenge of the kind '{folder.common.kind}', not 'freehand'.")
    references = files.find_references(folder.references)
    if options.scan not in references:
        raise UsageError(f"There is no scan '{options.scan}'; there is: {', '.join(sorted(references)[:10])}.")
    path: Path = options.output or Path(f"{options.scan}.png")
    run = {"grid": files.grid, "threads": options.workers}
    if options.input is None:
        scan = read_reference_scan(references[options.scan], files.grid)
        draw_trajectory(scan_trajectory(scan, None, **run), title=options.scan, path=path)
    else:
        with decoders(libraries=["h5py"], logged=False):
            limit = files.submission_bytes([files.check_reference(each) for each in references.values()])
            scan = read_reference_scan(references[options.scan], files.grid)
            with open_submission(options.input, max_bytes=limit, shape=folder.common.submission) as submission:
                collected = files.collect(submission, references.keys())
                if options.scan in collected.refused:
                    raise UsageError(collected.refused[options.scan])
                if options.scan not in collected.predictions:
                    raise UsageError(f"The submission holds nothing for the scan '{options.scan}'.")
                trajectory = scan_trajectory(scan, collected.predictions[options.scan], **run)
        draw_trajectory(trajectory, title=f"{options.scan}, {options.input.name}", path=path)
    return end(f"Drew {path}.")


def _folder(options: argparse.Namespace) -> "ChallengeFolder":
    from podium.challenges import KINDS
    from podium.challenges.format import locate_ground_truth, only_of_kind, read_challenge_folders

    root = locate_ground_truth(options.ground_truth, beside=BAKED_GROUND_TRUTH)
    return only_of_kind(read_challenge_folders(root, known=KINDS), "freehand")


def _change(before: int, after: int) -> str:
    ratio = f"{before / after:.1f} times smaller" if after < before else f"{after / before:.1f} times larger"
    return f"{before / 1e6:,.1f} MB became {after / 1e6:,.1f} MB, {ratio}"
