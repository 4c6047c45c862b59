"""WordNet's files: a hand-made handful of words everywhere, all of WordNet against NLTK where it is installed."""

import pickle
import shutil
from pathlib import Path

import pytest

from podium.metrics.text import meteor_synonyms
from podium.readers import wordnet
from podium.readers.wordnet import DEBIAN_FOLDER, FOLDER_VARIABLE, WordNet, find_wordnet

LICENCE = "  1 This is the top of the file.\n"
SYNSETS = {
    "noun": [["mouse", "computer_mouse"], ["tooth"], ["man", "adult_male"], ["caries", "tooth_decay", "cavity"]],
    "verb": [["chew", "masticate"], ["mouse"]],
    "adj": [["big", "large"], ["alone(p)", "lone(a)"]],
    "adv": [],
}
EXCEPTIONS = {"noun": "mice mouse\nteeth tooth\n", "verb": "", "adj": "", "adv": ""}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A WordNet of a few words, in the format of wndb(5WN)."""
    for part, synsets in SYNSETS.items():
        data, offsets = LICENCE, {}
        for words in synsets:
            for word in words:
                offsets.setdefault(word.split("(")[0], []).append(len(data))
            columns = " ".join(f"{word} 0" for word in words)
            data += f"{len(data):08d} 05 {part[0]} {len(words):02x} {columns} 000 | a gloss\n"
        index = LICENCE
        for word in sorted(offsets):
            places = " ".join(f"{offset:08d}" for offset in offsets[word])
            index += f"{word} {part[0]} {len(offsets[word])} 1 @ {len(offsets[word])} 0 {places}  \n"
        (tmp_path / f"data.{part}").write_text(data)
        (tmp_path / f"index.{part}").write_text(index)
        (tmp_path / f"{part}.exc").write_text(EXCEPTIONS[part])
    return tmp_path


@pytest.mark.parametrize(
    ("word", "synonyms"),
    [
        ("mouse", {"mouse"}),  # noun and verb; of two words: not a token
        ("mice", {"mouse"}),
        ("teeth", {"tooth"}),
        ("men", {"man"}),
        ("chewing", {"chew", "masticate"}),
        ("bigger", set()),  # morphy knows bigg and bigge, neither of which is a word
        ("large", {"big", "large"}),
        ("lone", {"alone", "lone"}),
        ("cavity", {"caries", "cavity"}),
        ("zzz", set()),
        ("", set()),
        ("è", set()),
        ("a b", set()),
    ],
)
@pytest.mark.parametrize("lookups_worth_a_table", [0, 20_000])
def test_synonyms(
    folder: Path, word: str, synonyms: set[str], lookups_worth_a_table: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wordnet, "_LOOKUPS_WORTH_A_TABLE", lookups_worth_a_table)
    assert WordNet(folder).synonyms(word) == synonyms


def test_where_it_is_not_installed_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "nowhere"))
    find_wordnet.cache_clear()
    assert find_wordnet() is None
    find_wordnet.cache_clear()


def test_the_variable_names_the_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, str(folder))
    find_wordnet.cache_clear()
    found = find_wordnet()
    find_wordnet.cache_clear()
    assert found is not None
    assert found.synonyms("masticate") == {"chew", "masticate"}


@pytest.mark.skipif(not DEBIAN_FOLDER.is_dir(), reason="Debian's wordnet-base is not installed")
def test_all_of_wordnet_is_as_nltk_reads_it(tmp_path: Path) -> None:
    import nltk
    from nltk.corpus.reader.wordnet import WordNetCorpusReader
    from nltk.translate.meteor_score import single_meteor_score

    corpus = tmp_path / "corpora/wordnet"
    corpus.mkdir(parents=True)
    for path in DEBIAN_FOLDER.iterdir():
        if path.is_file():
            shutil.copy(path, corpus)
    # Two files that Debian leaves out. NLTK looks a synset's file name up in the first, by number.
    (corpus / "lexnames").write_text("".join(f"{number:02d}\tname{number}\t1\n" for number in range(45)))
    (corpus / "index.sense").write_text("")
    nltk.data.path.insert(0, str(tmp_path))
    try:
        with pytest.warns(UserWarning, match="multilingual functions"):
            theirs = WordNetCorpusReader(str(corpus), None)
        ours = wordnet.WordNet(DEBIAN_FOLDER)
        words = sorted(theirs.all_lemma_names())[::150]
        words += [word + ending for word in words[::5] for ending in ("s", "ing", "ed", "er", "es")]
        assert len(words) > 1_900
        for word in words:
            names = {lemma.name() for synset in theirs.synsets(word) for lemma in synset.lemmas()}
            assert ours.synonyms(word) == {name for name in names if "_" not in name}, word

        candidate = ["a", "big", "carious", "lesion", "of", "the", "lower", "left", "molar", "."]
        reference = ["there", "is", "a", "large", "caries", "lesion", "on", "the", "left", "lower", "grinder", "."]
        score = meteor_synonyms(candidate=candidate, reference=reference, synonyms=ours.synonyms)
        assert score == single_meteor_score(reference, candidate, wordnet=theirs)
    finally:
        nltk.data.path.remove(str(tmp_path))


def test_another_process_reads_its_own_files(folder: Path) -> None:
    there = pickle.loads(pickle.dumps(WordNet(folder)))
    assert there.synonyms("teeth") == {"tooth"}
    shutil.move(folder, folder.with_name("moved"))
    with pytest.raises(FileNotFoundError):
        pickle.loads(pickle.dumps(there))
