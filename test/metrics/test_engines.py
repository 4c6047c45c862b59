"""Both engines give the same figures, MONAI's and scikit-learn's are the published ones, and native imports neither."""

import json
import math
import subprocess
import sys
import tarfile
import warnings
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from places import ROOT
from properties import examples

from podium.challenges import challenge_from_settings
from podium.metrics import Mask
from podium.metrics.engines import MetricEngine, engine_named
from podium.metrics.overlap import VoxelCounts, count_voxels
from podium.metrics.surfaces import BoundaryKind, SurfaceDistances, measure_surfaces
from podium.platform.jobs import Runtime
from podium.platform.metrics_file import CaseResult

MONAI, NATIVE = engine_named("monai"), engine_named("native")
AGREE = 1e-6


@dataclass(frozen=True, eq=False)
class Pair:
    prediction: Mask
    reference: Mask
    spacing: tuple[float, ...]

    @cached_property
    def counts(self) -> VoxelCounts:
        return count_voxels(prediction=self.prediction, reference=self.reference)

    def masks(self) -> tuple[Mask, Mask]:
        return self.prediction, self.reference

    def surfaces(self, *, boundary: BoundaryKind, in_mm: bool) -> SurfaceDistances:
        spacing = self.spacing if in_mm else None
        return measure_surfaces(
            prediction=self.prediction, reference=self.reference, spacing=spacing, boundary=boundary
        )


@st.composite
def pairs(draw: st.DrawFn) -> Pair:
    """2-D and 3-D masks with a voxel each: lines and single voxels, borders, holes, any spacing."""
    axes = draw(st.integers(2, 3))
    shape = draw(st.tuples(*[st.integers(1, 9 if axes == 2 else 6)] * axes))
    spacing = draw(st.tuples(*[st.sampled_from([0.3, 0.7, 1.0, 2.5])] * axes))
    masks = [draw(st.one_of(hnp.arrays(np.bool_, shape), _boxes(shape))) for _ in range(2)]
    for mask in masks:
        if not mask.any():
            mask[draw(st.tuples(*[st.integers(0, length - 1) for length in shape]))] = True
    return Pair(masks[0], masks[1], spacing)


@st.composite
def _boxes(draw: st.DrawFn, shape: tuple[int, ...]) -> Mask:
    """A solid box that may touch every border, perhaps with a hole in it."""
    mask = np.zeros(shape, np.bool_)
    cuts = [sorted(draw(st.tuples(*[st.integers(0, length)] * 2))) for length in shape]
    mask[tuple(slice(*cut) for cut in cuts)] = True
    mask[tuple(slice(low + 1, high - 1) for low, high in cuts)] &= draw(st.booleans())
    return mask


FIGURES: dict[str, Any] = {
    "dice": lambda engine, pair: engine.dice(pair),
    "iou": lambda engine, pair: engine.iou(pair),
    **{
        f"nsd_{mm}_mm": lambda engine, pair, mm=mm: engine.nsd(pair, tolerance=mm, in_mm=True) for mm in (0.0, 0.7, 2.5)
    },
    "nsd_voxels": lambda engine, pair: engine.nsd(pair, tolerance=1.0, in_mm=False),
    "hd": lambda engine, pair: engine.hausdorff(pair, percentile=100.0),
    "hd95": lambda engine, pair: engine.hausdorff(pair, percentile=95.0),
    "assd": lambda engine, pair: engine.assd(pair),
    "masd": lambda engine, pair: engine.masd(pair),
    "component_dice": lambda engine, pair: engine.component_dice(pair),
}


@pytest.mark.parametrize("figure", FIGURES)
@examples(60)
@given(pair=pairs())
def test_both_engines_agree_on_masks(figure: str, pair: Pair) -> None:
    theirs, ours = (FIGURES[figure](engine, pair) for engine in (MONAI, NATIVE))
    assert theirs == pytest.approx(ours, rel=AGREE, abs=AGREE)


def plates(size: int, near: int, layers: tuple[int, int], spacing: float) -> Pair:
    """One plane of `size` voxels as the reference. Of the prediction `near` voxels are in the first of two layers above
    it, the others in the second one: all of them are boundary, and their distances are known."""
    prediction, reference = np.zeros((2, max(layers) + 1, -(-size // 200), 200), np.bool_)
    reference[0].reshape(-1)[:size] = True
    prediction[layers[0]].reshape(-1)[:near] = True
    prediction[layers[1]].reshape(-1)[near:size] = True
    return Pair(prediction, reference, (spacing, 1.0, 1.0))


@pytest.mark.parametrize("engine", [MONAI, NATIVE], ids=["monai", "native"])
@pytest.mark.parametrize(("layers", "spacing", "hd95"), [((0, 1), 79.0, 7.900), ((3, 7), 19.75, 67.150)])
def test_hd95_of_large_boundaries_is_exact(
    engine: MetricEngine, layers: tuple[int, int], spacing: float, hd95: float
) -> None:
    """39,419 boundary voxels, of which 1,971 are 79 mm further away: the percentile is a tenth of the way there. With
    the percentile in single precision, as in `compute_hausdorff_distance`, it is 7.715 and 66.965 mm."""
    found = engine.hausdorff(plates(39_419, 37_448, layers, spacing), percentile=95.0)
    assert found == pytest.approx(hd95, abs=1e-9)


@examples(10)
@given(size=st.integers(20_000, 60_000), data=st.data())
def test_both_engines_agree_on_large_boundaries(size: int, data: st.DataObject) -> None:
    """The percentile lies between the two layers, wherever that is."""
    near = min(size, math.ceil(0.95 * (size - 1)) + data.draw(st.integers(-1, 1)))
    layers = data.draw(st.sampled_from([(0, 0), (0, 1), (0, 3), (1, 3)]))  # falling ones are slow to search
    pair = plates(size, near, layers, data.draw(st.sampled_from([0.7, 19.75, 79.0])))
    for figure in ("hd95", "assd"):
        theirs, ours = (FIGURES[figure](engine, pair) for engine in (MONAI, NATIVE))
        assert theirs == pytest.approx(ours, rel=AGREE, abs=AGREE), figure


@examples(60)
@given(pair=pairs())
def test_dice_is_the_same_to_the_last_digit(pair: Pair) -> None:
    assert MONAI.dice(pair) == NATIVE.dice(pair)
    assert MONAI.iou(pair) == NATIVE.iou(pair)


def test_the_golden_figures_of_two_boxes() -> None:
    prediction, reference = np.zeros((2, 6, 8, 8), np.bool_)
    reference[1:5, 2:6, 2:6] = prediction[1:5, 3:7, 2:6] = True
    pair = Pair(prediction, reference, (2.0, 1.0, 1.0))
    for engine in (MONAI, NATIVE):
        assert engine.dice(pair) == 0.75
        assert engine.nsd(pair, tolerance=0.0, in_mm=True) == pytest.approx(0.642857, abs=1e-6)
        assert engine.nsd(pair, tolerance=1.0, in_mm=True) == 1.0
        assert engine.hausdorff(pair, percentile=100.0) == engine.hausdorff(pair, percentile=95.0) == 1.0
        assert engine.assd(pair) == pytest.approx(0.357143, abs=1e-6)
        assert engine.masd(pair) == pytest.approx(0.357143, abs=1e-6)


def test_the_table_of_triangle_normals_is_monais() -> None:
    from monai.metrics.utils import _get_neighbour_code_to_normals_table

    from podium.metrics.surfaces import _triangle_normals

    assert np.array_equal(_triangle_normals(), _get_neighbour_code_to_normals_table().numpy())


# Published figures of classes and probabilities: replicate zero, all cases once, equals scikit-learn's.

CLASS_METRICS: list[dict[str, Any]] = [
    *({"kind": kind} for kind in ("accuracy", "balanced_accuracy", "f1", "sensitivity", "specificity", "mcc")),
    *({"kind": "kappa", "name": f"kappa_{weights}", "weights": weights} for weights in ("none", "linear", "quadratic")),
]
PROBABILITY_METRICS = [
    *({"kind": kind} for kind in ("auroc", "average_precision", "brier", "ece")),
    {"kind": "log_loss", "clip": 0.05},
]
NAMES = ("a", "b", "c")


def aggregates(value: dict[str, Any], metrics: list[dict[str, Any]], facts: list[Any], engine: str) -> dict[str, Any]:
    values = {"x": {**value, "file": "{case}.json", "reference": "{case}.json"}}
    ranking = {"by": metrics[0]["kind"]}
    tables = {"values": values, "metrics": metrics, "engine": engine, "ranking": ranking}
    challenge = challenge_from_settings("x", "declared", tables)
    rows = [
        CaseResult(case=str(number), status="scored", metrics={"x": {**fact, "correct": 0}})
        for number, fact in enumerate(facts)
    ]
    found = dict(challenge.aggregate(rows, Runtime()))
    found.pop("confusion_matrix", None)
    return found


def assert_alike(found: Any, expected: Any, where: str = "") -> None:
    if isinstance(expected, dict):
        assert found.keys() == expected.keys(), where
        for key, value in expected.items():
            assert_alike(found[key], value, f"{where}.{key}")
    else:
        assert found == pytest.approx(expected, abs=1e-9), where


@examples(80)
@given(
    st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from([*NAMES, None])), min_size=1, max_size=12),
)
def test_published_figures_of_classes_equal_replicate_zero(cases: list[tuple[str, str | None]]) -> None:
    value = {"kind": "class", "classes": {name: number for number, name in enumerate(NAMES)}}
    facts = [{"reference": true, "prediction": found} for true, found in cases]
    found = [aggregates(value, CLASS_METRICS, facts, engine) for engine in ("monai", "native")]
    assert_alike(*found)


@examples(80)
@given(
    st.lists(st.tuples(st.booleans(), st.sampled_from([0.0, 0.1, 0.35, 0.4, 0.8, 1.0, None])), min_size=1, max_size=12)
)
def test_published_figures_of_a_probability_equal_replicate_zero(cases: list[tuple[bool, float | None]]) -> None:
    value = {"kind": "probability", "classes": {"no": 0, "yes": 1}, "positive": "yes"}
    facts = [
        {"reference": "yes" if true else "no", "prediction": None if p is None else {"no": 1 - p, "yes": p}}
        for true, p in cases
    ]
    found = [aggregates(value, PROBABILITY_METRICS, facts, engine) for engine in ("monai", "native")]
    assert_alike(*found)


@examples(80)
@given(st.lists(st.tuples(st.sampled_from(NAMES), st.none() | st.tuples(*[st.integers(1, 9)] * 3)), min_size=1))
def test_published_figures_of_probabilities_equal_replicate_zero(
    cases: list[tuple[str, tuple[int, ...] | None]],
) -> None:
    value = {"kind": "probability", "classes": {name: number for number, name in enumerate(NAMES)}}
    facts = [
        {
            "reference": true,
            "prediction": None if p is None else {n: w / sum(p) for n, w in zip(NAMES, p, strict=True)},
        }
        for true, p in cases
    ]
    metrics = [*PROBABILITY_METRICS, *CLASS_METRICS]
    assert_alike(aggregates(value, metrics, facts, "monai"), aggregates(value, metrics, facts, "native"))


# A whole evaluation.


def evaluated(tmp_path: Path, truth: Path, submission: Path) -> tuple[dict[str, Any], set[str]]:
    """metrics.json, and the packages that the process of the evaluation has imported."""
    code = (
        "import sys; from podium import evaluate; "
        f"evaluate({str(submission)!r}, ground_truth={str(truth)!r}, output={str(tmp_path)!r}); "
        "print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return json.loads((tmp_path / "metrics.json").read_text()), set(done.stdout.split())


@pytest.mark.slow
def test_the_carotid_sample_equals_a_script_that_calls_monai_and_scikit_learn(tmp_path: Path) -> None:
    truth, team = ROOT / "ground-truth/carotid", ROOT / "test/submissions/carotid/bifurcation"
    found, imported = evaluated(tmp_path, truth, team)
    assert {"monai.metrics", "sklearn.metrics"} <= imported
    assert {name: by.split()[0] for name, by in found["computed_by"].items()} == {
        **{"dice": "monai", "nsd": "monai"},
        "f1": "scikit-learn",
    }
    with tarfile.open(team / "preds.tar.gz") as archive:
        archive.extractall(tmp_path / "files", filter="data")
    expected = script(truth / "references", next((tmp_path / "files").rglob("*_pred.h5")).parent)
    for path, value in expected.items():
        name, place = path.split(".")
        figure = found["aggregates"][name][place]
        assert (figure if name == "f1" else figure["mean"]) == pytest.approx(value, abs=AGREE), path


def script(references: Path, team: Path) -> dict[str, float]:
    import torch
    from monai.metrics import compute_dice, compute_surface_dice
    from sklearn.metrics import f1_score

    figures: dict[str, list[float]] = {}
    true, answers = [], []
    for reference in sorted(references.glob("*.h5")):
        prediction = team / reference.name.replace("_label", "_pred")
        with h5py.File(reference) as expected, h5py.File(prediction) as found:
            true.append(int(np.squeeze(expected["cls"][()])))
            answers.append(int(np.squeeze(found["cls"][()])))
            for view in ("long", "trans"):
                for structure, values in (("vessel", (2, 255)), ("plaque", (1, 128))):
                    masks = [np.isin(file[f"{view}_mask"][()], values) for file in (found, expected)]
                    if not masks[0].any() or not masks[1].any():
                        pair = [float(not masks[0].any() and not masks[1].any())] * 2
                    else:
                        two = [torch.from_numpy(mask)[None, None] for mask in masks]
                        with warnings.catch_warnings():
                            warnings.simplefilter("ignore", FutureWarning)  # of MONAI's own making
                            nsd = compute_surface_dice(*two, class_thresholds=[3.0], include_background=True)
                        pair = [float(compute_dice(*two)), float(nsd)]
                    for name, value in zip(("dice", "nsd"), pair, strict=True):
                        figures.setdefault(f"{name}.{view}_{structure}", []).append(value)
    f1 = float(f1_score(true, answers, labels=[0, 1], average="macro", zero_division=0))
    return {**{path: float(np.mean(values)) for path, values in figures.items()}, "f1.macro": f1}


@pytest.mark.parametrize("entry", ["panther", "flare22"])
def test_a_native_evaluation_imports_neither_torch_nor_monai_nor_scikit_learn(entry: str, tmp_path: Path) -> None:
    folder = ROOT / "gallery" / entry
    found, imported = evaluated(tmp_path, folder, min((folder / "teams").iterdir()))
    assert found["settings"]["engine"] == "native"
    assert not {"torch", "monai", "sklearn"} & imported
    assert {by.split()[0] for by in found["computed_by"].values()} == {"podium"}


def test_an_engine_asks_for_its_packages_only() -> None:
    code = (
        "import sys; from podium.metrics.engines import engine_named; engine = engine_named('monai'); "
        "engine.import_packages({'podium'}); print(*{'torch', 'monai', 'sklearn'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


@pytest.mark.parametrize("engine", [MONAI, NATIVE])
def test_an_engine_uses_one_thread(engine: MetricEngine) -> None:
    import torch

    engine.import_packages({"monai"})
    assert torch.get_num_threads() == 1 or engine is NATIVE
