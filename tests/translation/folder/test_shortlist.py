from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tests.translation.folder.models import PAIRS, saved

from dragoman import Translator
from dragoman.base.errors import ConfigError, DataError, ModelError
from dragoman.models.folder.average import average_folders
from dragoman.models.folder.check import check_folder
from dragoman.models.folder.quantisation import quantise_folder
from dragoman.text.corpora.lines import Line
from dragoman.text.tokenizers.tokenizer import Tokenizer
from dragoman.translation.folder.config import read_config
from dragoman.translation.folder.shortlist import make_shortlist, read_shortlist
from dragoman.translation.loading import load_model

LINES = [Line(number, *pair) for number, pair in enumerate(PAIRS * 3, 1)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return saved(tmp_path / "model")


def test_it_is_made_of_text_and_read_from_the_folder(folder: Path) -> None:
    assert read_shortlist(folder, read_config(folder)) is None
    said: list[str] = []
    made = make_shortlist(folder, LINES, frequent=1, candidates=3, progress=said.append)
    shortlist = read_shortlist(folder, read_config(folder))
    assert shortlist is not None
    tokenizer = Tokenizer.load(folder)
    (source,) = tokenizer.encode_source(["old stones"])
    (target,) = tokenizer.encode_target(["stones old"])

    assert made.lines == len(LINES)
    assert made.target_vocab == tokenizer.target_size
    assert 3 <= made.mean < made.target_vocab
    assert set(target) <= set(shortlist.of(source))
    assert set(shortlist.of(source)) < set(range(tokenizer.target_size))
    assert said
    assert {check.name: check.status for check in check_folder(folder)}["shortlist.safetensors"] == "ok"


def test_the_translator_uses_it(folder: Path) -> None:
    make_shortlist(folder, LINES, frequent=1, candidates=1)
    translator = Translator.load(folder)
    (found,) = translator.translate(["old stones"], shortlist=True, n_best=5)
    (source,) = translator.tokenizer.encode_source(["old stones"])

    assert translator.shortlist is not None
    allowed = {translator.tokenizer.target_pieces([token])[0] for token in translator.shortlist.of(source)}
    assert all(set(one.tokens) <= allowed for one in (found, *found.alternatives))


def test_a_shared_vocabulary_lets_words_be_copied(folder: Path) -> None:
    make_shortlist(folder, [Line(1, "the moon", "old")], frequent=1, candidates=2)
    shortlist = read_shortlist(folder, read_config(folder))
    assert shortlist is not None
    for token in range(10):
        assert token in shortlist.of([token])


@pytest.mark.parametrize("option", ["frequent", "candidates", "most"])
def test_numbers_below_1_are_refused(option: str, folder: Path) -> None:
    with pytest.raises(ConfigError, match="= 0"):
        make_shortlist(folder, LINES, **{option: 0})  # type: ignore[arg-type]


def test_text_without_pairs_leaves_the_folder_as_it_was(folder: Path) -> None:
    make_shortlist(folder, LINES)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(DataError, match="no line"):
        make_shortlist(folder, [Line(1, "the moon", "")])
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_one_of_another_tokenizer_is_refused(folder: Path, tmp_path: Path) -> None:
    """Its vocabulary has the same size, and other words."""
    other = saved(tmp_path / "other")
    tokenizer = Tokenizer.train(
        [(text.upper(), text.upper()) for text, _ in PAIRS], Tokenizer.load(other).config
    )
    tokenizer.save(other)
    make_shortlist(folder, LINES)
    shutil.copy(folder / "shortlist.safetensors", other)

    assert read_shortlist(folder, read_config(folder))
    with pytest.raises(ModelError, match="another tokenizer"):
        read_shortlist(other, read_config(other))


def test_a_damaged_one_is_refused_and_found(folder: Path) -> None:
    make_shortlist(folder, LINES)
    path = folder / "shortlist.safetensors"
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(ModelError, match="not a shortlist"):
        Translator.load(folder)
    assert {check.name: check.status for check in check_folder(folder)}["shortlist.safetensors"] == "fault"


def test_it_goes_along_when_a_model_is_quantised_or_averaged(folder: Path, tmp_path: Path) -> None:
    make_shortlist(folder, LINES, frequent=1, candidates=3)
    quantise_folder(folder, tmp_path / "int8")
    average_folders([folder, folder], tmp_path / "mean")
    original = read_shortlist(folder, read_config(folder))
    assert original is not None

    for name in ("int8", "mean"):
        copy = read_shortlist(tmp_path / name, read_config(tmp_path / name))
        assert copy is not None
        assert copy.of(range(10)) == original.of(range(10))


def test_a_damaged_tokenizer_is_not_blamed_on_the_shortlist(folder: Path) -> None:
    make_shortlist(folder, LINES)
    table = json.loads((folder / "tokenizer.json").read_text())
    name = next(iter(table["files"]))
    table["files"][name] = table["files"][name][::-1]
    (folder / "tokenizer.json").write_text(json.dumps(table))

    for engine in ("native", "pytorch"):
        with pytest.raises(ModelError) as error:
            load_model(folder, engine=engine)
        assert "shortlist" not in f"{error.value} {error.value.hint}"
        assert name in str(error.value) or "tokenizer.json" in str(error.value)
    found = {check.name: check.status for check in check_folder(folder)}
    assert (found["tokenizer"], found["shortlist.safetensors"]) == ("fault", "skipped")
