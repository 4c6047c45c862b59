"""Which file or job belongs to which case, without any challenge."""

import re
import string
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.errors import Refused, SubmissionError
from podium.pairing import Entry, Layout, Pairing, Template, Unmatched, one_prediction, pair
from podium.platform.jobs import Job, SocketValue
from podium.platform.submission import Submission, SubmissionNames
from podium.readers.files import SafeFile

H5 = tuple(Template(name) for name in ("{case}_pred.h5", "{case}.h5", "{case}_label.h5"))
LAYOUT = Layout(outputs=("mask",), inputs=("image",), files=H5, beside=("timing.json",), ignored=(".txt",))
STEPS = Layout(
    outputs=("mask",), inputs=("ct", "pet"), files=(Template("{case}/iter_{step}.{extension}"),), suffixes=("_0000",)
)
ARRAYS = Layout(
    outputs=(), inputs=(), any_input=True, files=(Template("{case}/{array}.npy", choices=("GP", "LP")), *H5[1:2])
)
TEXTS = Layout(
    outputs=("report",),
    inputs=("scan",),
    any_input=True,
    files=(Template("{case}.txt"),),
    ignore_case=True,
    any_extension=True,
    job_pattern=re.compile(r"job-(?P<case>.+)"),
)


def files(*names: str, refused: dict[str, str] | None = None) -> Submission:
    return Submission(
        is_algorithm=False,
        files=tuple(SafeFile(Path("/submission"), name) for name in names),
        refused=tuple((refused or {}).items()),
    )


def job(pk: str, **inputs: str | None) -> Job:
    sockets = {slug: SocketValue(relative_path=None, value=None, name=name) for slug, name in inputs.items()}
    return Job(root=Path("/submission"), pk=pk, inputs=sockets, outputs={})


def jobs(*each: Job) -> Submission:
    return Submission(is_algorithm=True, jobs=each)


def labels(pairing: Pairing) -> dict[str, list[str]]:
    return {case: [candidate.label for candidate in found] for case, found in pairing.candidates.items()}


def reasons(pairing: Pairing) -> dict[str, str]:
    return {each.name: each.reason for each in pairing.unmatched}


# Names


@pytest.mark.parametrize(
    ("template", "name", "found"),
    [
        ("{case}_pred.h5", "deep/er/a_pred.h5", ("a", "")),
        ("{case}_pred.h5", "a_PRED.H5", ("a", "")),
        ("{case}_pred.h5", "A_pred.h5", ("A", "")),
        ("{case}_pred.h5", "_pred.h5", None),
        ("{case}.h5", "a.b.h5", ("a.b", "")),
        ("{case}/iter_{step}.{extension}", "x/a/ITER_12.nii.gz", ("a", "12")),
        ("{case}/iter_{step}.{extension}", "iter_1.mha", None),
        ("{case}/iter_{step}.{extension}", "a/iter_1_scribbles.json", None),
        ("{case}_pred.h5", "mu\u0308_pred.h5", ("m\u00fc", "")),
    ],
)
def test_templates(template: str, name: str, found: tuple[str, str] | None) -> None:
    assert Template(template).match(name) == found


@given(st.text(string.ascii_letters + string.digits + "._- ", min_size=1, max_size=12))
def test_a_template_finds_the_case_it_was_filled_with(case: str) -> None:
    for template in (*H5, Template("{case}.nii.gz")):
        assert template.match(f"some/folder/{template.text.format(case=case)}") == (case, "")


def test_the_first_template_with_an_expected_case_counts() -> None:
    found = pair(files("a_pred.h5", "b_pred_pred.h5"), LAYOUT, ["a", "a_pred", "b_pred"])
    assert labels(found) == {"a": ["a_pred.h5"], "b_pred": ["b_pred_pred.h5"]}
    only = pair(files("a_pred.h5"), LAYOUT, ["a_pred"])
    assert labels(only) == {"a_pred": ["a_pred.h5"]}


def test_without_a_list_of_cases_the_shortest_name_is_taken() -> None:
    assert labels(pair(files("a_label.h5", "README.md", "notes.txt"), LAYOUT, None)) == {"a": ["a_label.h5"]}


def test_what_belongs_to_no_case_is_named_with_a_reason() -> None:
    found = pair(
        files("z_pred.h5", "notes.docx", "README.md", "b.txt", "Timing.json", refused={"l.bin": "a link"}),
        LAYOUT,
        ["a"],
    )
    assert reasons(found) == {
        "z_pred.h5": "'z' is not an expected case",
        "notes.docx": "it is not named <case>_pred.h5, <case>.h5 or <case>_label.h5",
        "l.bin": "a link",
    }
    assert [file.name for file in found.beside["timing.json"]] == ["Timing.json"]


@pytest.mark.parametrize("name", ["README", "License.h5", "run.LOG", "a.nii.gz.md5", "sub/changelog.h5"])
def test_what_people_put_beside_predictions_is_ignored(name: str) -> None:
    layout = Layout(outputs=(), inputs=(), files=H5, ignored=(".md5",))
    assert pair(files(name), layout, ["a"]) == Pairing()


def test_letter_case_counts_unless_the_layout_says_otherwise() -> None:
    assert labels(pair(files("CASE.txt"), TEXTS, ["case"])) == {"case": ["CASE.txt"]}
    assert labels(pair(files("CASE.h5"), LAYOUT, ["case"])) == {}


def test_every_extension_may_go_but_a_case_may_have_dots() -> None:
    assert labels(pair(files("1.2.840.7.txt"), TEXTS, ["1.2.840.7"])) == {"1.2.840.7": ["1.2.840.7.txt"]}
    assert labels(pair(jobs(job("p", scan="A.nii.gz")), TEXTS, ["a"])) == {"a": ["job p"]}


def test_a_name_that_cannot_be_shown_is_escaped() -> None:
    (unmatched,) = pair(files("a\nb_pred.h5"), LAYOUT, ["a"]).unmatched
    assert unmatched == Unmatched(name="a\\nb_pred.h5", reason="'a\\nb' is not an expected case")


# Several files of one case


def test_parts_of_one_folder_are_one_prediction() -> None:
    found = pair(files("x/a/GP.npy", "x/a/lp.npy"), ARRAYS, ["a"])
    assert [each.part for each in one_prediction(found.candidates["a"])] == ["GP", "lp"]


@pytest.mark.parametrize(
    ("names", "listed"),
    [
        (("a/GP.npy", "b/a/GP.npy"), "'a/', 'b/a/'"),
        (("a/GP.npy", "a/gp.npy"), "'a/', 'a/gp.npy'"),
        (("a/GP.npy", "a.h5"), "'a/', 'a.h5'"),
    ],
)
def test_two_predictions_for_one_case_are_refused(names: tuple[str, ...], listed: str) -> None:
    found = pair(files(*names), ARRAYS, ["a"])
    with pytest.raises(Refused, match=re.escape(f"There are 2 predictions for this case ({listed}); send one.")):
        one_prediction(found.candidates["a"])


def test_a_file_that_is_never_opened_costs_its_case() -> None:
    found = pair(files("a_pred.h5", refused={"x/a.h5": "It is a link."}), LAYOUT, ["a"])
    with pytest.raises(Refused, match=r"^It is a link\.$"):
        one_prediction(found.candidates["a"])


def test_steps_and_channels() -> None:
    found = pair(files("a_0000/iter_0.mha", "a/iter_1.nii.gz"), STEPS, ["a"])
    assert [each.part for each in found.candidates["a"]] == ["0", "1"]


# Jobs


def test_the_first_of_the_named_inputs_decides() -> None:
    found = pair(jobs(job("p", pet="a.mha"), job("q", ct="b_0000.mha", pet="a.mha")), STEPS, ["a", "b"])
    assert labels(found) == {"a": ["job p"], "b": ["job q"]}


def test_jobs_of_foreign_cases_are_unmatched_and_stop_nothing() -> None:
    submitted = jobs(job("p", image="z.mha"), job("q", other="a.mha"), job("r", image=None), job("s", image="a.mha"))
    found = pair(submitted, LAYOUT, ["a"])
    assert labels(found) == {"a": ["job s"]}
    assert reasons(found) == {
        "job p": "its input 'z.mha' is not an expected case",
        "job q": "it has no input 'image' with a name",
        "job r": "it has no input 'image' with a name",
    }


def test_any_input_may_name_the_case_and_the_pk_last() -> None:
    submitted = jobs(
        job("p", photo="A.png"), job("job-b", photo="x.png"), job("q", one="a.png", two="b.png"), job("r", one="z.png")
    )
    found = pair(submitted, TEXTS, ["a", "b"])
    assert labels(found) == {"a": ["job p"], "b": ["job job-b"]}
    assert reasons(found) == {
        "job q": "its inputs name more than one case",
        "job r": "no input is an expected case ('z.png')",
    }


# Tables


def rows(file: SafeFile) -> Iterator[tuple[str, Entry]]:
    for name in ("a", "z"):
        yield name, Entry(label=f"{file.name}: {name}", value=name.upper())


def test_a_table_holds_the_predictions_of_many_cases() -> None:
    layout = Layout(outputs=(), inputs=(), files=H5, tables={"all.csv": rows})
    found = pair(files("x/ALL.csv", "b_pred.h5"), layout, ["a", "b"])
    assert labels(found) == {"a": ["x/ALL.csv: a"], "b": ["b_pred.h5"]}
    assert reasons(found) == {"x/ALL.csv: z": "it is not an expected case"}


def test_a_table_that_cannot_be_read_costs_the_submission() -> None:
    def broken(file: SafeFile) -> Iterator[tuple[str, Entry]]:
        raise Refused(f"'{file.name}' is broken.")
        yield

    layout = Layout(outputs=(), inputs=(), files=H5, tables={"all.csv": broken})
    with pytest.raises(SubmissionError, match=r"'all\.csv' is broken\."):
        pair(files("all.csv"), layout, ["a"])


@pytest.mark.parametrize(
    ("names", "sockets", "recognised"),
    [(("x/a_pred.h5",), (), True), (("a.h5",), (), False), ((), ("mask",), True), ((), ("other",), False)],
)
def test_bare_names_do_not_tell_a_challenge(names: tuple[str, ...], sockets: tuple[str, ...], recognised: bool) -> None:
    assert LAYOUT.recognises(SubmissionNames(frozenset(sockets), names)) is recognised


@given(
    st.lists(
        st.sampled_from(["a_pred.h5", "a.h5", "b.h5", "c_label.h5", "z.h5", "notes.bin", "x/a_pred.h5"]), unique=True
    )
)
def test_nothing_is_lost_and_nothing_is_counted_twice(names: list[str]) -> None:
    found = pair(files(*names), LAYOUT, ["a", "b", "c"])
    placed = [label for each in labels(found).values() for label in each] + [each.name for each in found.unmatched]
    assert sorted(placed) == sorted(names)
