"""Files that organisers download from the platform: a phase's starter kit, and its evaluations.

`python test/platform_files.py KIT.zip EVALUATIONS.json` writes both for the phase of docs/first-phase.md.
"""

import json
import sys
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from grand_challenge_forge.forge import generate_challenge_pack
from places import ROOT

from podium import evaluate
from podium.execution.executor import Serial


def interface(inputs: Sequence[Mapping[str, Any]], *outputs: Mapping[str, Any]) -> dict[str, Any]:
    return {"inputs": [*inputs], "outputs": [*outputs]}


def make_kit(kit: Path, *interfaces: Mapping[str, Any], phases: Sequence[str] = ("test",)) -> Path:
    """The archive that the platform offers for download."""
    archive = {"slug": "archive", "url": "https://example.org"}
    phase = {
        "archive": archive,
        "algorithm_interfaces": [*interfaces],
        "evaluation_additional_inputs": [],
        "evaluation_additional_outputs": [],
    }
    challenge = {"slug": "mine", "url": "https://example.org", "archives": [archive]}
    context = {"challenge": {**challenge, "phases": [{**phase, "slug": slug} for slug in phases]}}
    with zipfile.ZipFile(kit, "w") as packed:
        generate_challenge_pack(output_zip_file=packed, target_zpath=Path("mine-challenge-pack"), context=context)
    return kit


def export_evaluations(file: Path, ground_truth: Path, teams: Sequence[Path]) -> None:
    """What the platform's API gives of one evaluation of each team."""
    phase = {"pk": "1f0c", "title": "Final", "slug": "final", "challenge": {"title": "Mine", "short_name": "mine"}}
    evaluations = []
    for team in teams:
        found = evaluate(team, ground_truth=ground_truth, executor=Serial())
        created = "2026-05-01T10:00:00Z"
        submission = {"pk": f"s-{team.name}", "phase": phase, "created": created, "creator": {"username": team.name}}
        output = {"interface": {"slug": "metrics-json-file"}, "value": found.model_dump(mode="json", by_alias=True)}
        evaluations.append(
            {
                "pk": f"e-{team.name}",
                "submission": submission,
                "created": created,
                "published": True,
                "outputs": [output],
                "rank": 1,
                "rank_score": 1.0,
                "status": "Succeeded",
            }
        )
    file.write_text(json.dumps(evaluations), encoding="utf-8")


def main(kit: Path, evaluations: Path) -> None:
    mri = {"slug": "abdominal-t1-mri", "kind": "Image", "super_kind": "Image"}
    mask = {"slug": "pancreatic-tumor-segmentation", "kind": "Segmentation", "super_kind": "Image"}
    sockets = [{**each, "relative_path": f"images/{each['slug']}"} for each in (mri, mask)]
    make_kit(kit, interface(sockets[:1], *sockets[1:]))
    panther = ROOT / "gallery/panther"
    export_evaluations(evaluations, panther, sorted((panther / "teams").iterdir()))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
