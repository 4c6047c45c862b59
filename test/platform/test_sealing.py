"""Sealed rows: what only the organiser's key opens, and every way to tamper with it."""

import base64
import json
import re
import shutil
import stat
import zlib
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any

import pytest
from places import ROOT
from tools.ranking.files import FAIR, GOOD, POOR, carotid_document, said, three_teams, write_teams

from podium.cli.main import main
from podium.errors import UsageError
from podium.figures import agrees
from podium.platform.metrics_file import MetricsFile
from podium.platform.sealing import decoded_key, new_key, open_box, read_key, seal
from podium.tools.ranking.documents import read_cohorts
from podium.tools.ranking.rank import rank
from podium.tools.ranking.schemes import RankingOptions

pytest.importorskip("nacl")
TRUTH = b"the digest of the references"


@pytest.fixture
def key(tmp_path: Path) -> tuple[Path, str]:
    path = tmp_path / "organiser.key"
    return path, new_key(path)


def sealed(
    document: dict[str, Any],
    public_key: str,
    *,
    truth: bytes = TRUTH,
    submission: str = "",
    published: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """The document as a hidden phase publishes it: no rows, but a box of all."""
    whole = MetricsFile.model_validate_json(json.dumps(document))
    shown = published or document["aggregates"]
    box = seal(whole, published=shown, ground_truth=truth, submission=submission, public_key=public_key)
    return {**document, "aggregates": shown, "results": [], "sealed": box}


def assert_closed(document: dict[str, Any], box: str, key: Path) -> None:
    """The box cannot be opened."""
    file = MetricsFile.model_validate_json(json.dumps(document)).model_copy(update={"sealed": box})
    with pytest.raises(UsageError, match="cannot be opened"):
        open_box(file, secret_key=read_key(key), label="x")


def refusal(folder: Path, key: Path) -> str:
    with pytest.raises(UsageError) as refused:
        read_cohorts([folder], key=key)
    return str(refused.value)


def test_a_key_is_for_its_owner_alone_and_never_overwritten(key: tuple[Path, str]) -> None:
    path, public_key = key
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert len(decoded_key(public_key)) == 32
    assert base64.b64encode(read_key(path)).decode() != public_key
    with pytest.raises(UsageError, match=r"cannot be written to .*: File exists"):
        new_key(path)


@pytest.mark.parametrize("content", ["", "podium-secret-key-1 abc", "podium-secret-key-1 ", "x " + "A" * 44])
def test_what_is_no_key(tmp_path: Path, content: str) -> None:
    (tmp_path / "k").write_text(content)
    with pytest.raises(UsageError, match=r"is not a secret key written by 'podium keys new'\."):
        read_key(tmp_path / "k")


def test_a_hidden_phase_is_ranked_as_an_open_one(tmp_path: Path, key: tuple[Path, str]) -> None:
    path, public_key = key
    options = RankingOptions(bootstraps=50)
    (opened,) = read_cohorts([write_teams(tmp_path / "open", three_teams())])
    hidden = {team: sealed(document, public_key) for team, document in three_teams().items()}
    folder = write_teams(tmp_path / "hidden", hidden)
    (found,) = read_cohorts([folder], key=path)
    assert rank(found, options) == rank(opened, options)
    (closed,) = read_cohorts([folder])
    ranking = rank(closed, options)
    assert ranking.deciding.stability is None
    assert "The files contain sealed rows: --key opens them for intervals and tests." in said(ranking)


def test_rounded_aggregates_are_made_exact(tmp_path: Path, key: tuple[Path, str]) -> None:
    path, public_key = key
    exact = carotid_document(FAIR)
    figures = {key: value for key, value in exact["aggregates"].items() if key != "nsd"}  # as of too few cases
    document = sealed(exact, public_key, published=figures | {"score": round(figures["score"])})
    assert document["aggregates"]["score"] != exact["aggregates"]["score"]
    (cohort,) = read_cohorts([write_teams(tmp_path / "t", {"a": document})], key=path)
    assert cohort.files[0].content.aggregates == exact["aggregates"]


def test_the_length_of_a_box_says_nothing_about_its_rows(key: tuple[Path, str]) -> None:
    """Rows that repeat are shorter when they are compressed: right and wrong classes would show."""
    lengths = {len(base64.b64decode(sealed(carotid_document(each), key[1])["sealed"])) for each in (GOOD, FAIR, POOR)}
    (length,) = lengths
    overhead = 48  # of a sealed box
    assert (length - overhead).bit_count() == 1


def test_the_wrong_key(tmp_path: Path, key: tuple[Path, str]) -> None:
    folder = write_teams(tmp_path / "t", {"a": sealed(carotid_document(GOOD), key[1])})
    new_key(tmp_path / "other.key")
    assert refusal(folder, tmp_path / "other.key") == (
        f"The sealed rows of {folder / 'a' / 'metrics.json'} cannot be opened: the key is not the one they were sealed "
        "for, or the file was changed."
    )


def test_a_box_changed_in_any_byte(key: tuple[Path, str]) -> None:
    path, public_key = key
    document = sealed(carotid_document(GOOD), public_key)
    texts = ["", "no base64!", document["sealed"][:-8]]
    box = base64.b64decode(document["sealed"])
    for place in (0, 31, 32, len(box) // 2, len(box) - 1):
        changed = box[:place] + bytes([box[place] ^ 1]) + box[place + 1 :]
        texts.append(base64.b64encode(changed).decode())
    for text in texts:
        assert_closed(document, text, path)


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("challenge", "other", "belong to another file: they are from another challenge."),
        ("version", "9", "belong to another file: they are from another version."),
        ("aggregates.score", 99.0, "a different aggregates.score than its sealed rows: one of them was replaced."),
        ("aggregates.time_score", 99.0, "aggregates.time_score than its sealed rows: one of them was replaced."),
        ("counts.expected", 7, "of 7 cases, which is not what its rows give, or no sum: it was changed."),
        ("settings.cases.ignore_case", True, "belong to another file: they are from other settings."),
    ],
)
def test_a_file_changed_in_any_field(tmp_path: Path, key: tuple[Path, str], path: str, value: Any, words: str) -> None:
    document = json.loads(json.dumps(sealed(carotid_document(GOOD), key[1])))
    *parents, last = path.split(".")
    reduce(getitem, parents, document)[last] = value
    assert refusal(write_teams(tmp_path / "t", {"a": document}), key[0]).endswith(words)


def test_a_box_of_another_team(tmp_path: Path, key: tuple[Path, str]) -> None:
    good, poor = (sealed(carotid_document(each), key[1]) for each in (GOOD, POOR))
    poor |= {"sealed": good["sealed"], "counts": good["counts"]}
    assert "one of them was replaced" in refusal(write_teams(tmp_path / "t", {"a": poor}), key[0])
    poor["aggregates"] = {"time_known": 1}  # what differs is left out
    words = refusal(write_teams(tmp_path / "t", {"a": poor}), key[0])
    assert re.search(r"a different aggregates\.\S+ than its sealed rows: one of them was replaced\.", words)
    copy = write_teams(tmp_path / "both", {"a": good, "b": good})
    labels = [str(copy / team / "metrics.json") for team in "ab"]
    words = f"{labels[0]} and {labels[1]} have the same sealed rows: one of them was copied."
    assert refusal(copy, key[0]) == words
    with pytest.raises(UsageError, match="have the same sealed rows"):
        read_cohorts([copy])


def test_a_box_has_one_spelling(key: tuple[Path, str]) -> None:
    """Base64 has bits that mean nothing: with others of these, a copied box would look like another one."""
    path, public_key = key
    boxes = (sealed(carotid_document(GOOD), public_key, submission=f"{n}" * n)["sealed"] for n in range(10))
    box = next(each for each in boxes if each.endswith("="))
    place = len(box.rstrip("=")) - 1
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    other = box[:place] + letters[letters.index(box[place]) ^ 1] + box[place + 1 :]
    assert base64.b64decode(other, validate=True) == base64.b64decode(box)
    assert_closed(carotid_document(GOOD), other, path)


def test_boxes_of_different_references(tmp_path: Path, key: tuple[Path, str]) -> None:
    teams = {name: sealed(carotid_document(GOOD), key[1]) for name in "ab"}
    teams["c"] = sealed(carotid_document(FAIR), key[1], truth=b"another")
    words = refusal(write_teams(tmp_path / "t", teams), key[0])
    assert re.search(r"c/metrics\.json was scored against references with the digest '\w{64}', but", words)


def test_a_file_without_a_box(tmp_path: Path, key: tuple[Path, str]) -> None:
    folder = write_teams(tmp_path / "t", {"a": carotid_document(GOOD)})
    path = folder / "a" / "metrics.json"
    assert refusal(folder, key[0]) == f"{path} has no sealed rows, so --key opens nothing there."


def test_a_bomb_is_not_inflated(key: tuple[Path, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever has the public key can close a box of anything."""
    from nacl.public import PublicKey, SealedBox

    monkeypatch.setattr("podium.platform.sealing._MOST_BYTES", 1000)
    bomb = zlib.compress(b" " * 10_000_000)
    box = base64.b64encode(SealedBox(PublicKey(decoded_key(key[1]))).encrypt(bomb)).decode()
    assert_closed(carotid_document(GOOD), box, key[0])


@pytest.mark.parametrize(
    ("published", "exact", "expected"),
    [
        (0.1234, 0.12342, True),
        (0.1234, 0.12346, False),
        (0.12, 0.1249, True),
        (0.12, 0.1251, False),
        (0.5, 0.504, True),
        (0.5, 0.51, False),
        (91.65123456789, 91.65123456789, True),
        (91.65123456789, 91.652, False),
        (1e-9, 0.0, True),
        (3, 3.0, True),
    ],
)
def test_a_rounded_figure_agrees_with_the_exact_one(published: float, exact: float, expected: bool) -> None:
    assert agrees(published, exact) is expected


# The commands


def test_from_challenge_toml_to_the_ranking(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    key = tmp_path / "organiser.key"
    assert main(["keys", "new", str(key)]) == 0
    lines = capfd.readouterr().out
    assert re.fullmatch(r'\[sealed\]\npublic_key = "[A-Za-z0-9+/]{43}="\n', lines)
    truth = tmp_path / "truth" / "reports"
    shutil.copytree(ROOT / "ground-truth" / "reports", truth)
    toml = truth / "challenge.toml"
    text = re.sub(r'per_case = "\w+"', 'per_case = "none"', toml.read_text())
    toml.write_text(text)
    assert main(["check", str(truth)]) == 0
    assert "there is no key in [sealed]" in capfd.readouterr().out
    toml.write_text(f"{text}\n{lines}")
    assert main(["check", str(truth)]) == 0
    assert "[sealed]" not in capfd.readouterr().out
    submission = ROOT / "test" / "submissions" / "reports" / "molar"
    output = tmp_path / "results" / "molar"
    arguments = ["--input", str(submission), "--output", str(output), "--ground-truth", str(truth)]
    assert main(["evaluate", *arguments]) == 0
    document = json.loads((output / "metrics.json").read_text())
    assert document["results"] == []
    (cohort,) = read_cohorts([tmp_path / "results"], key=key)
    assert len(cohort.files[0].cases) == document["counts"]["expected"]
    out = tmp_path / "out"
    options = ["--scheme", "platform", "--key", str(key), "--replicates", "20", "--output", str(out)]
    assert main(["rank", str(tmp_path / "results"), *options]) == 0
    assert main(["report", str(output / "metrics.json"), "--key", str(key)]) == 0
    pictures = ["--key", str(key), "--ground-truth", str(truth), "--submission"]
    capfd.readouterr()
    assert main(["report", str(output / "metrics.json"), *pictures, str(submission.with_name("cuspid"))]) == 2
    assert "belong to another submission than" in capfd.readouterr().err
    page = (output / "report.html").read_text()
    assert all(f">{case}<" in page for case in cohort.files[0].cases)


@pytest.mark.parametrize(
    ("public_key", "words"),
    [
        ("abc", "a key has 32 bytes, written in base64."),
        ("A" * 43 + "=", "nothing can be sealed for this key; make one with 'podium keys new'."),
    ],
)
def test_an_invalid_public_key(tmp_path: Path, capfd: pytest.CaptureFixture[str], public_key: str, words: str) -> None:
    """32 zeros have the length of a key, but the evaluation crashed after it had scored everything."""
    truth = tmp_path / "reports"
    shutil.copytree(ROOT / "ground-truth" / "reports", truth)
    with (truth / "challenge.toml").open("a") as stream:
        stream.write(f'\n[sealed]\npublic_key = "{public_key}"\n')
    assert main(["check", str(truth)]) == 2
    assert f"'sealed.public_key' is wrong: {words}" in capfd.readouterr().out
