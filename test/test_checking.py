"""`podium check`: everything that is wrong with a challenge's folder, at once, before a build."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from challenges import carotid_files, freehand_files, lesions_folders
from challenges.declared.declaring import HEAD, metric, metrics, value, write_challenge
from metrics import made as freehand_golden
from places import ROOT

from podium import evaluate
from podium.challenges.ground_truth import challenge_paths
from podium.checking import Checked, check, compare_engines
from podium.cli.main import main
from podium.errors import ConfigurationError, GroundTruthError
from podium.execution.executor import Serial
from podium.metrics.overlap import damaged_labels

SPACING = (2.0, 2.0, 3.0)


def change(folder: Path, old: str, new: str) -> None:
    """Write something else into challenge.toml."""
    path = folder / "challenge.toml"
    text = path.read_text()
    assert text.count(old) == 1
    path.write_text(text.replace(old, new))


def line(folder: Path, start: str) -> int:
    """The number of the line in challenge.toml that begins so."""
    return next(
        number
        for number, text in enumerate((folder / "challenge.toml").read_text().splitlines(), start=1)
        if text.startswith(start)
    )


def checked(folder: Path, *, images: Path | None = None) -> Checked:
    return check(folder.name, folder, images=images, executor=Serial())


@pytest.fixture
def carotid(tmp_path: Path) -> Path:
    """Cases a, b and c with different masks, so that nothing is wrong."""
    folder = carotid_files.write_ground_truth(tmp_path / "carotid", {})
    for seed, (case, cls) in enumerate({"a": 0, "b": 1, "c": 0}.items()):
        masks = {"long_mask": carotid_files.mask(carotid_files.LONG, seed=seed)}
        carotid_files.write_case(folder / "references" / f"{case}_label.h5", cls=cls, **masks)
    return folder


@pytest.fixture
def lesions(tmp_path: Path) -> Path:
    (tmp_path / "ground-truth/references").mkdir(parents=True)
    return lesions_folders.write_ground_truth(tmp_path, {}, settings='steps = 3\ngeometry = "warn"')


def add_lesions(folder: Path, name: str, volume: Any, *, spacing: tuple[float, ...] = SPACING) -> None:
    lesions_folders.write(folder / "references" / f"{name}.nii.gz", volume, spacing=spacing)


def reports(folder: Path, texts: dict[str, str]) -> Path:
    references = {f"{case}.txt": text for case, text in texts.items()}
    return write_challenge(folder, "", references, head=HEAD.replace("declared", "reports"))


# Settings


def test_all_mistakes_of_the_settings_at_once_with_key_and_line(carotid: Path) -> None:
    (carotid / "challenge.toml").write_text(
        'kind = "declared"\ntitel = "T"\nversion = "1"\nper_case = "some"\nexpected_cases = 0\n'
        '[cases]\ngroups = "("\n'
        '[values.risk]\nkind = "class"\nfile = "{case}.h5"\nreference = "{case}_label.h5"\ndataset = "cls"\n'
        "classes = { a = 0, b = 1 }\n"
        '[values.size]\nkind = "number"\nfile = "{name}.h5"\nreference = "{case}_label.h5"\n'
        '[[metrics]]\nkind = "f1"\nof = "risk"\n[[metrics]]\nkind = "f2"\nof = "risk"\n'
        '[time]\nrule = "fixed"\nbaseline_seconds = -1\n'
        '[figures]\nscore = "0.8 * f1.macro + 0.2 * time_score"\ntwice = "2 * scores"\n[ranking]\nby = "score"\n'
    )
    errors = checked(carotid).errors
    assert [error.removeprefix("challenge.toml").split("' ")[0] for error in errors] == [
        *(", line 2: 'titel", ": 'title", ", line 4: 'per_case", ", line 5: 'expected_cases"),
        *(", line 7: 'cases.groups", ", line 16: 'values.size.file", ", line 22: 'metrics.1.kind"),
        ", line 26: 'time.baseline_seconds",
    ]
    assert errors[5].endswith(" and no other placeholder, '{name}.h5' does not.")


@pytest.mark.parametrize(
    ("figures", "number"),
    [('score = "0.5 * dice.mean"', 1), ('score = "0.5 * (dice.mean"', 2)],
)
def test_a_misspelt_metric_is_one_error_and_hides_no_wrong_formula(figures: str, number: int, carotid: Path) -> None:
    head = (carotid / "challenge.toml").read_text().partition("[[metrics]]")[0]
    tables = f'[[metrics]]\nkind = "dicee"\n[figures]\n{figures}\n[ranking]\nby = "score"\ntie_break = ["dice.mean"]\n'
    (carotid / "challenge.toml").write_text(head + tables)
    found = checked(carotid).errors
    assert [("metrics.0.kind" in error, "figures.score" in error) for error in found] == sorted(
        [(True, False), (False, True)][:number], key=lambda each: each[0]
    )


def test_the_path_of_the_file_means_its_folder(carotid: Path) -> None:
    assert challenge_paths(carotid / "challenge.toml") == {carotid.name: carotid}
    with pytest.raises(GroundTruthError):
        challenge_paths(carotid / "references" / "challenge.toml")


@pytest.mark.parametrize(
    ("first_line", "error"),
    [
        ('kind = "decalred"', ", line 1: 'kind' is 'decalred'; the kinds are: declared, freehand, lesions, reports."),
        ("", ": the key 'kind' is missing."),
        (
            'challenge = "carotid"',
            ", line 1: 'challenge' is no longer a key: write kind = \"declared\"; the name of a challenge is that of "
            "its folder.",
        ),
    ],
)
def test_a_wrong_kind_hides_no_other_mistake(first_line: str, error: str, carotid: Path) -> None:
    (carotid / "challenge.toml").write_text(f'{first_line}\ntitle = "T"\nversion = "1"\nper_case = "all"\n')
    first, second = checked(carotid).errors
    assert first.startswith(f"challenge.toml{error}")
    assert second.startswith("challenge.toml, line 4: 'per_case' is wrong")


def test_a_wrong_name_of_a_figure_hides_no_broken_reference_but_a_wrong_table_does(carotid: Path) -> None:
    change(carotid, "+ 0.2 * time_score", "+ 0.2 * speed")
    (carotid / "references/a_label.h5").write_bytes(b"no HDF5")
    formula, reference = (error.split(":")[0] for error in checked(carotid).errors)
    assert formula == f"challenge.toml, line {line(carotid, 'score  ')}"
    assert reference == "references/a_label.h5"
    change(carotid, "tolerance_px = 3.0", "tolerance = 3.0")
    (table,) = (error.split(":")[0] for error in checked(carotid).errors)
    assert table == f"challenge.toml, line {line(carotid, 'tolerance')}"


def test_a_file_that_is_no_toml(carotid: Path) -> None:
    (carotid / "challenge.toml").write_text("kind = \n")
    (error,) = checked(carotid).errors
    assert error.startswith("challenge.toml is not valid TOML: Invalid value (at line 1")


def test_a_byte_order_mark_is_accepted(carotid: Path) -> None:
    path = carotid / "challenge.toml"
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert checked(carotid) == Checked(
        name="carotid",
        statistics=[
            "cases: 3",
            *(f"{view}_{structure}: 3 present" for view in ("long", "trans") for structure in ("vessel", "plaque")),
            "risk: 1 high_risk, 2 low_risk",
        ],
    )


def test_the_name_of_the_folder(carotid: Path) -> None:
    (error,) = checked(carotid.rename(carotid.parent / "Carotid Final")).errors
    assert error.endswith("it becomes the image's name; 'Carotid Final' is not valid.")


# References


def test_every_broken_and_every_misnamed_reference_is_listed(carotid: Path) -> None:
    references = carotid / "references"
    whole = (references / "a_label.h5").read_bytes()
    (references / "a_label.h5").write_bytes(whole[: len(whole) // 2])
    carotid_files.write_case(references / "b_label.h5", cls=7)
    (references / "notes.txt").touch()
    (references / "d.h5").touch()
    (references / "e_label.h5").symlink_to("c_label.h5")
    errors = checked(carotid).errors
    assert errors[:3] == [
        "references/e_label.h5 ('e_label.h5' is a symbolic link; send the file itself): "
        "A reference is not a regular file.",
        "references/d.h5: A reference is not named <case>_label.h5.",
        "references/notes.txt: A reference is not named <case>_label.h5.",
    ]
    assert errors[3].startswith("references/a_label.h5: 'a_label.h5' ")
    assert errors[4] == "references/b_label.h5: 'b_label.h5: cls' is 7; the classes are 0, 1."
    assert len(errors) == 5


def without_sides(folder: Path, *cases: str) -> Path:
    """Two classes, of which the one has references elsewhere."""
    elsewhere, two = "elsewhere/{case}.json", {"low": 0, "high": 1}
    toml = value("risk", "class", file="{case}.json", reference="{case}.json", classes=two)
    toml += value("side", "class", file=elsewhere, reference=elsewhere, classes=two)
    toml += metric("f1", of="risk") + metrics(by="f1.macro")
    return write_challenge(folder, toml, {f"{case}.json": 0 for case in cases})


def test_a_template_that_fits_no_reference_is_reported_without_a_traceback(tmp_path: Path) -> None:
    without_sides(tmp_path, "a", "b")
    assert checked(tmp_path).errors == [
        "a: A case has no reference for the value 'side'.",
        "b: A case has no reference for the value 'side'.",
    ]


def test_many_missing_references_are_one_line(tmp_path: Path) -> None:
    without_sides(tmp_path, *(f"c{number:02}" for number in range(18)))
    sentence = "A case has no reference for the value 'side'."
    assert checked(tmp_path).errors == [f"c00, c01, c02, c03, c04 and 13 more: {sentence}"]
    with pytest.raises(GroundTruthError, match=f"^{sentence}$") as raised:
        evaluate(tmp_path, ground_truth=tmp_path, executor=Serial())
    assert raised.value.detail == f"c00, c01, c02, c03, c04 and 13 more: {sentence}"


def test_of_several_names_the_first_that_fits_a_reference_counts(carotid: Path) -> None:
    path = carotid / "challenge.toml"
    path.write_text(
        path.read_text().replace('reference = "{case}_label.h5"', 'reference = ["{case}_label.h5", "{case}.h5"]')
    )
    (carotid / "references/c_label.h5").rename(carotid / "references/c.h5")
    found = checked(carotid)
    assert (found.errors, found.statistics[0]) == ([], "cases: 3")
    carotid_files.write_case(carotid / "references/a.h5")
    assert checked(carotid).errors == [
        f"references/a_label.h5: A case has two references for the value '{value}'."
        for value in ("long", "trans", "risk")
    ]


def test_forgotten_references(carotid: Path) -> None:
    path = carotid / "challenge.toml"
    path.write_text("expected_cases = 4\n" + path.read_text())
    expected = "The ground truth has 3 references, but 'expected_cases' in challenge.toml is 4."
    assert checked(carotid).errors == [f"references: {expected}"]


def test_no_reference(carotid: Path) -> None:
    shutil.rmtree(carotid / "references")
    assert checked(carotid).errors == ["The ground truth has no folder 'references'."]
    (carotid / "references").mkdir()
    assert checked(carotid).errors == ["The ground truth holds no reference."]


def test_all_cases_without_a_group_are_listed(carotid: Path) -> None:
    change(carotid, "[cases]\n", "[cases]\ngroups = '^(?P<group>a)'\n")
    (error,) = checked(carotid).errors
    assert error.startswith("b, c: 2 cases have no valid group")


def test_a_pattern_that_never_ends_is_refused(carotid: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python's `re` tries 2**60 ways to share the letters of this name among the two repetitions."""
    monkeypatch.setattr("podium.challenges.settings._PATTERN_SECONDS", 0.2)
    name = "a" * 60
    for reference in (carotid / "references").glob("a_*"):
        reference.rename(reference.with_name(reference.name.replace("a_", f"{name}_", 1)))
    change(carotid, "[cases]\n", "[cases]\ngroups = '^(?P<group>(a+)+)!'\n")
    for run in (checked, lambda folder: evaluate(folder, ground_truth=folder)):
        with pytest.raises(ConfigurationError, match=r"'cases.groups' takes more than 0\.2 seconds") as refused:
            run(carotid)
        assert refused.value.detail == name
        assert name not in str(refused.value)


@pytest.mark.parametrize("pattern", ["(?P<group>a{99999999999999999999})", "(?P<group>" + "(" * 2000, "x" * 1001])
def test_a_pattern_of_any_length_is_answered(pattern: str, carotid: Path) -> None:
    change(carotid, "[cases]\n", f"[cases]\ngroups = '{pattern}'\n")
    (error,) = checked(carotid).errors
    assert "'cases.groups' is wrong: " in error


@pytest.mark.parametrize("ignore_case", [False, True])
def test_names_equal_but_for_letter_case(ignore_case: bool, carotid: Path) -> None:
    carotid_files.write_case(carotid / "references/A_label.h5", trans_mask=carotid_files.mask((20, 28), seed=1))
    change(carotid, "[cases]\n", f"[cases]\nignore_case = {str(ignore_case).lower()}\n")
    found = checked(carotid)
    if ignore_case:
        error = "A and a: Two references have names that differ only in upper and lower case."
        assert (found.errors, found.warnings) == ([error], [])
    else:
        assert (found.errors, found.warnings) == ([], ["A and a differ only in upper and lower case."])


def test_the_same_content_under_two_names(carotid: Path) -> None:
    for name in ("d", "e"):
        shutil.copy(carotid / "references/a_label.h5", carotid / f"references/{name}_label.h5")
    assert checked(carotid).warnings == ["a, d and e: These references have the same content."]


def test_names_of_channels(lesions: Path) -> None:
    add_lesions(lesions, "a_0000", lesions_folders.LESION)
    found = checked(lesions)
    assert found.warnings == ["a_0000 ends in '_0000' like a channel of an image: is it a reference?"]
    assert found.errors == []
    add_lesions(lesions, "a", lesions_folders.HALF)
    assert checked(lesions).errors == ["a_0000 cannot be distinguished from a: '_0000' is a channel of an image."]


def test_everything_that_freehand_lacks(tmp_path: Path) -> None:
    scans = dict.fromkeys(("sub050__x", "sub051__y", "sub052__z"), freehand_golden.TOOL_TO_CAMERA)
    folder = freehand_files.write_ground_truth(tmp_path / "freehand", scans=scans)
    (folder / "references/transfs/050/x.h5").unlink()
    (folder / "references/landmark/landmark_051.h5").unlink()
    (folder / "references/calib_matrix.csv").unlink()
    assert checked(folder).errors == [
        "references: The references do not contain calib_matrix.csv.",
        "sub050__x (no transfs/ file): A scan of the ground truth has no transforms.",
        "sub051__y (no landmark_ file): A scan of the ground truth has no landmarks.",
    ]


# Statistics and what is implausible


def doubts(found: Checked) -> list[str]:
    """Of the references alone."""
    return [warning for warning in found.warnings if not warning.startswith("A perfect submission")]


def test_one_class_only_and_masks_that_are_all_empty(carotid: Path) -> None:
    for seed, case in enumerate("abc"):
        mask = carotid_files.mask(carotid_files.LONG, seed=seed)
        mask[mask == 1] = 0
        carotid_files.write_case(carotid / f"references/{case}_label.h5", long_mask=mask, cls=1)
    found = checked(carotid)
    assert doubts(found) == [
        "The mask 'long_plaque' is empty in all references.",
        "All references have the class 'high_risk': figures such as AUROC are undefined.",
    ]
    assert "long_plaque: 3 empty" in found.statistics


def test_a_class_without_a_case(carotid: Path) -> None:
    change(carotid, "high_risk = 1 }", "high_risk = 1, top = 2 }")
    assert doubts(checked(carotid)) == ["No reference has the class 'top'."]


@pytest.mark.parametrize(
    ("spacing", "warning"),
    [
        ((1.0, 1.0, 1.0), "The spacing is 1 x 1 x 1 mm: it may have been lost"),
        ((0.002, 0.002, 0.003), "The spacing is below 0.01 mm: it may be in metres"),
        (SPACING, None),
    ],
)
def test_spacing(spacing: tuple[float, ...], warning: str | None, lesions: Path) -> None:
    for number in range(7):
        volume = lesions_folders.LESION.copy()
        volume[5, 7, number] = 1
        add_lesions(lesions, f"case{number}", volume, spacing=spacing)
    warnings = checked(lesions).warnings
    assert [each.split(": ", 1)[0] for each in warnings] == ["case0, case1, case2, case3, case4 and 2 more"] * bool(
        warning
    )
    assert all(str(warning) in each for each in warnings)


def test_volumes_and_empty_references(lesions: Path) -> None:
    add_lesions(lesions, "a", lesions_folders.NOTHING)
    assert doubts(checked(lesions)) == ["All references are empty: there is no lesion to find."]
    add_lesions(lesions, "b", lesions_folders.LESION)
    found = checked(lesions)
    assert found.warnings == []
    assert found.statistics == [
        "cases: 2",
        'reference: 1 with lesions, 1 without lesions (empty_reference = "undefined")',
        "lesions: 0 to 1, median 0.5",
        "volume (ml): 0 to 0.324, median 0.162",  # 27 voxels of 12 mm3
        "smallest spacing (mm): 2 to 2, median 2",
        "largest spacing (mm): 3 to 3, median 3",
    ]


@pytest.mark.parametrize(
    ("factor", "warning"),
    [
        (1.0, None),
        (0.001, "The path is shorter than 1 mm: the transforms may be in metres."),
        (10_000.0, "The path is longer than 10 m: the transforms may not be in mm."),
    ],
)
def test_path_lengths(factor: float, warning: str | None, tmp_path: Path) -> None:
    poses = freehand_golden.TOOL_TO_CAMERA.copy()
    poses[:, :3, 3] *= factor
    found = checked(freehand_files.write_ground_truth(tmp_path / "freehand", scans={"sub050__x": poses}))
    assert found.warnings == ([] if warning is None else [f"sub050__x: {warning}"])
    # From (100, 50, -30) by (1, 2, 3) and (-3, 3, 2): sqrt(14) + sqrt(22).
    length = f"{(14**0.5 + 22**0.5) * factor:.4g}"
    assert found.statistics[-1] == f"path length (mm): {length} to {length}, median {length}"


@pytest.mark.parametrize(
    ("first", "second", "warning"),
    [
        (
            freehand_golden.IMAGE_TO_TOOL,
            freehand_golden.PIXEL_TO_MM,
            "The two matrices of calib_matrix.csv seem swapped",
        ),
        (
            np.diag([-0.5, 0.25, 1, 1]),
            freehand_golden.IMAGE_TO_TOOL,
            "The first matrix of calib_matrix.csv is not a scale",
        ),
        (freehand_golden.PIXEL_TO_MM, np.diag([2.0, 2, 2, 1]), "The second matrix of calib_matrix.csv is not a rigid"),
    ],
)
def test_calibration(first: Any, second: Any, warning: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(freehand_golden, "PIXEL_TO_MM", first)
    monkeypatch.setattr(freehand_golden, "IMAGE_TO_TOOL", second)
    (found,) = checked(freehand_files.write_ground_truth(tmp_path / "freehand")).warnings
    assert found.startswith(f"{freehand_files.SCAN}: {warning}")


def test_an_empty_reference_report_says_what_it_means(tmp_path: Path) -> None:
    found = checked(reports(tmp_path / "reports", {"A": "no finding", "B": " \n"}))
    meaning = "The reference report is empty: every team scores 0 in this case, whatever it predicts."
    assert (found.errors, found.warnings) == ([], [f"B: {meaning}"])
    assert found.statistics == ["cases: 2", "words: 0 to 2, median 1"]


# Images


def test_sizes_against_the_images(lesions: Path, tmp_path: Path) -> None:
    for name, volume in (("a", lesions_folders.LESION), ("b", lesions_folders.HALF), ("c", lesions_folders.NOTHING)):
        add_lesions(lesions, name, volume)
    lesions_folders.write(tmp_path / "images/a_0000.mha", lesions_folders.LESION)
    lesions_folders.write(tmp_path / "images/a_0001.mha", lesions_folders.LESION)
    lesions_folders.write(tmp_path / "images/b_0001.mha", lesions_folders.LESION[:-1])
    found = checked(lesions, images=tmp_path / "images")
    assert found.errors == ["references/b.nii.gz: 'b_0001.mha' is 10 x 8 x 5, expected 10 x 8 x 6 (x, y, z)."]
    assert found.warnings == [
        "a: The spacing of an image and of the reference differ: one of them may be flipped, rotated or in another "
        "space.",
        "c: There is no image of this case.",
    ]


def test_images_of_both_views(carotid: Path, tmp_path: Path) -> None:
    images, shapes = tmp_path / "images", {"long": carotid_files.LONG, "trans": carotid_files.TRANS}
    for case in "ab":
        freehand_files.write_h5(
            images / f"{case}.h5", {f"{view}_img": np.zeros(shape) for view, shape in shapes.items()}
        )
    freehand_files.write_h5(images / "b.h5", {"long_img": np.zeros((9, 9))})
    found = checked(carotid, images=images)
    assert found.errors == ["references/b_label.h5: 'long_img' in 'b.h5' has the shape (9, 9), expected (24, 32)."]
    assert found.warnings == ["c: There is no image of this case."]


def test_a_kind_without_images_says_so(tmp_path: Path) -> None:
    (warning,) = checked(reports(tmp_path / "reports", {"A": "no finding"}), images=tmp_path).warnings
    assert warning == "References of the kind 'reports' are not compared with images."


# The command


def test_the_bundled_challenges_are_fine(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["check"]) == 0
    out, err = capfd.readouterr()
    assert [line for line in out.splitlines() if not line.startswith(" ")] == sorted(
        path.parent.name for path in ROOT.glob("ground-truth/*/challenge.toml")
    )
    assert err == "Nothing is wrong.\n"


def test_exit_codes(carotid: Path, capfd: pytest.CaptureFixture[str]) -> None:
    shutil.copy(carotid / "references/a_label.h5", carotid / "references/d_label.h5")
    assert main(["check", str(carotid)]) == 0
    assert capfd.readouterr().err == "Found 0 errors and 1 warning.\n"
    (carotid / "references/odd").touch()
    assert main(["check", str(carotid.parent)]) == 2
    out, err = capfd.readouterr()
    assert out.splitlines()[:3] == [
        "carotid",
        "  error: references/odd: A reference is not named <case>_label.h5.",
        "  warning: a and d: These references have the same content.",
    ]
    assert err == "Found 1 error and 1 warning; fix the errors before you build.\n"
    assert main(["check", str(carotid / "nowhere")]) == 2
    assert main(["check", str(carotid), "--images", str(carotid / "nowhere")]) == 2


@pytest.mark.parametrize(("folder", "metrics"), [("carotid", {"dice", "nsd", "f1"}), ("reports", set())])
def test_both_engines_are_compared_on_damaged_references(folder: str, metrics: set[str]) -> None:
    found = compare_engines(folder, ROOT / "ground-truth" / folder, executor=Serial())
    assert found.keys() == metrics
    assert all(each.difference < 1e-6 for each in found.values())
    assert all(found[name].seconds["monai"] > 0 for name in metrics - {"f1"})


def test_damaged_copies_differ_from_the_reference() -> None:
    """Moved along the last axis, without the outer voxels of each label, and without the largest label."""
    labels = np.array([[1, 1, 1, 2], [1, 1, 1, 2], [1, 1, 1, 2]], np.uint8)
    moved, thinner, fewer = damaged_labels(labels)
    assert moved.tolist() == [[0, 1, 1, 1]] * 3
    assert thinner.tolist() == [[1, 1, 0, 0]] * 3
    assert fewer.tolist() == [[1, 1, 1, 0]] * 3


# A perfect submission scores the best value, or the check says so.


@pytest.mark.parametrize(
    "folder",
    sorted(path.parent for top in ("ground-truth", "gallery") for path in ROOT.glob(f"{top}/*/challenge.toml")),
    ids=lambda path: path.name,
)
def test_a_perfect_submission_scores_best_in_every_sample_and_gallery_challenge(folder: Path) -> None:
    found = checked(folder)
    assert found.errors == []
    assert [warning for warning in found.warnings if "perfect submission" in warning] == []


def test_a_perfect_submission_of_probabilities_has_no_error(tmp_path: Path) -> None:
    toml = value("v", "probability", table="p.csv", column="v", classes={"low": 0, "mid": 1, "high": 2})
    found = checked(write_challenge(tmp_path / "risk", toml + metrics("brier"), {"p.csv": "case,v\na,0\nb,1\nc,2\n"}))
    assert found.errors == []
    assert [warning for warning in found.warnings if "perfect submission" in warning] == []


def test_a_declared_class_without_a_case_keeps_f1_macro_below_the_best_value(tmp_path: Path) -> None:
    toml = value("v", "class", table="p.csv", column="v", classes={"low": 0, "mid": 1, "high": 2})
    toml += metrics("f1", by="score") + '[figures]\nscore = "100 * f1.macro"\n'
    found = checked(write_challenge(tmp_path / "risk", toml, {"p.csv": "case,v\na,0\nb,1\nc,1\n"}))
    assert found.errors == []
    macro = "A perfect submission scores 0.6667 in 'f1.macro', not the best value, 1. A declared class without a case "
    assert f"{macro}counts 0 in it." in found.warnings
    assert "A perfect submission scores 66.67 in 'score', not the best value, 100." in found.warnings


@pytest.mark.parametrize(("other", "wrong"), [(0, 0), (1, 1)])
def test_a_formula_needs_undefined_only_where_these_references_leave_a_term_without_a_value(
    tmp_path: Path, other: int, wrong: int
) -> None:
    toml = value("v", "probability", positive="ill", table="p.csv", column="v") + metrics("auroc", by="score")
    toml += '[figures]\nscore = "2 * auroc - 1"\n'
    found = checked(write_challenge(tmp_path / "one", toml, {"p.csv": f"case,v\na,1\nb,{other}\n"}))
    words = "'figures.score' has a term without a value for these references, 'auroc': write undefined = \"worst\""
    assert [words in error for error in found.errors] == [True] * wrong
    assert not any("A perfect submission has no value for 'score'" in warning for warning in found.warnings)


def test_a_formula_that_even_a_perfect_submission_has_no_value_of(tmp_path: Path) -> None:
    toml = value("v", "probability", positive="ill", table="p.csv", column="v") + metrics("auroc", by="score")
    toml += '[figures]\nscore = { formula = "2 * auroc - 1", undefined = "exclude" }\n'
    found = checked(write_challenge(tmp_path / "one", toml, {"p.csv": "case,v\na,1\nb,1\n"}))
    words = "A perfect submission has no value for '{}': these references leave it undefined."
    assert found.errors == []
    assert words.format("score") in found.warnings


# The ranking rule, tried on the references, on damaged copies of them and without answers to single ones

SIZES = value("size", "number", table="p.csv", column="size")
SEVEN = "case,size\n" + "".join(f"c{number},{number + 5}\n" for number in range(7))


def warnings_of(tmp_path: Path, toml: str, references: dict[str, Any], code: str = "") -> Checked:
    folder = write_challenge(tmp_path / "sizes", SIZES + toml, references)
    if code:
        (folder / "metrics.py").write_text(f"from podium.own_metrics import metric\n\n{code}")
    return checked(folder)


@pytest.mark.parametrize(("failed", "gains"), [(0.5, True), (100, False)])
def test_a_case_that_is_better_left_out(tmp_path: Path, failed: float, gains: bool) -> None:
    """Predictions that are off by 1 have an error of 1, a missing one of 0.5."""
    found = warnings_of(tmp_path, metric("mae", failed=failed) + '[ranking]\nby = "mae"\n', {"p.csv": SEVEN})
    assert [each for each in found.warnings if "leaving out a case" in each] == (
        ["By the ranking rule, a submission can gain by leaving out a case, such as c0."] if gains else []
    )
    assert "ranking rule tried on: 6 of 7 cases" in found.statistics


def test_a_perfect_submission_that_is_not_first(tmp_path: Path) -> None:
    """The metric is an error, of which more is declared to be better."""
    code = '@metric(compares="number", direction="higher", lowest=0.0, highest=99.0)\n'
    code += "def off(*, prediction, reference):\n    return abs(prediction - reference)\n"
    found = warnings_of(tmp_path, metrics("off"), {"p.csv": SEVEN}, code)
    assert found.errors == []
    assert any("a perfect submission is not first" in each for each in found.warnings)
    assert "A perfect submission scores 0 in 'off.mean', not the best value, 99." in found.warnings


def test_a_false_positive_where_there_is_nothing_to_find_is_not_ahead(tmp_path: Path) -> None:
    spot = np.zeros((12, 12), np.uint8)
    spot[4:8, 4:8] = 1
    toml = value("v", "labels", file="{case}.mha", reference="{case}.mha", labels={"spot": 1})
    toml += metric("lesions", match="iou", threshold=0.1, pairing="any", failed=0)
    toml += '[ranking]\nby = ["lesions.spot.f1"]\nmethod = "positions_by_case"\n'
    folder = write_challenge(tmp_path / "spots", toml, {"a.mha": spot, "b.mha": np.zeros_like(spot)})
    assert [each for each in checked(folder).warnings if "ranking rule" in each] == []


@pytest.mark.parametrize(
    ("toml", "name"),
    [
        (metric("component_error"), "component_error"),
        (metric("volume_difference_ml"), "volume_difference_ml"),
        (metric("relative_volume_difference"), "relative_volume_difference"),
        (metric("volume_rmse_ml"), "volume_rmse_ml"),
        (metric("lesions", match="iou", threshold=0.1, pairing="any"), "lesions.fp"),
        (metric("lesions", match="iou", threshold=0.1, pairing="any", over="pooled"), "lesions.fp"),
    ],
)
def test_where_only_the_number_of_voxels_bounds_a_figure_failed_is_required(
    tmp_path: Path, toml: str, name: str
) -> None:
    volume = value("v", "labels", file="{case}.mha", reference="{case}.mha", labels={"spot": 1})
    folder = write_challenge(tmp_path / "spots", volume + toml + metrics("dice"), {"a.mha": np.eye(4, dtype=np.uint8)})
    (error,) = checked(folder).errors
    assert f"'metrics.0.failed' is missing: {name} has no worst value" in error


def test_a_worst_value_that_others_can_be_worse_than(tmp_path: Path) -> None:
    """Of an own metric: who left out one case was first by it."""
    code = '@metric(compares="number", direction="lower", lowest=0.0, worst=9.0)\n'
    code += "def off(*, prediction, reference):\n    return abs(prediction - reference)\n"
    (error,) = warnings_of(tmp_path, metrics("off"), {"p.csv": SEVEN}, code).errors
    assert "worst is 9, but other values can be worse: highest must be the same number" in error
    (error,) = warnings_of(tmp_path, metrics("off"), {"p.csv": SEVEN}, code.replace(", worst=9.0", "")).errors
    assert "'metrics.0.failed' is missing: off has no worst value" in error
