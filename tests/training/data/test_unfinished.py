"""Tokenising goes on after a kill: the same files, without the work that was done."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from dragoman.base.errors import DataError
from dragoman.text import toy
from dragoman.text.corpora.corpus import Corpus, Line, chained, open_pairs
from dragoman.text.corpora.filter import FilterConfig
from dragoman.text.tokenizers.tokenizer import Tokenizer, TokenizerConfig
from dragoman.training.data.chunk import Chunk, Chunker
from dragoman.training.data.tokenised import TokenisedCorpus, first_change, is_made_from, tokenise
from dragoman.training.data.tokenising import Tokenising, UnfinishedCorpus

PAIRS = [*toy.pairs(seed=3, count=40), *toy.pairs(seed=3, count=6), ("", "x"), *toy.pairs(seed=5, count=15)]
KILLED = "killed here"


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.train(PAIRS, TokenizerConfig(vocab_size=420, placeholders=5, sampling=0.1))


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TokenisedCorpus, "CHUNK", 7)
    monkeypatch.setattr(UnfinishedCorpus, "SECONDS", -1.0)  # a record after each chunk


def text(shards: int = 3, pairs: list[tuple[str, str]] = PAIRS) -> Corpus:
    each = -(-len(pairs) // shards)
    parts = [open_pairs(pairs[n : n + each], name=f"part-{n // each}") for n in range(0, len(pairs), each)]
    return chained(parts)


def made(folder: Path, tokenizer: Tokenizer, corpus: Corpus, **options: int) -> TokenisedCorpus:
    return tokenise(corpus, tokenizer, FilterConfig(), folder, **options)


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def kill(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Make tokenising fail before the chunk of this number, and count the chunks from then on."""

    def set_(number: int) -> None:
        chunk, left = Chunker.chunk, [number]

        def dying(chunker: Chunker, *texts: list[str]) -> Chunk:
            left[0] -= 1
            if left[0] < 0:
                raise KeyboardInterrupt(KILLED)
            return chunk(chunker, *texts)

        monkeypatch.setattr(Chunker, "chunk", dying)

    return set_


@pytest.mark.parametrize("after", [0, 1, 3, 8])
def test_it_goes_on_where_it_was(
    tmp_path: Path, tokenizer: Tokenizer, kill: Callable[[int], None], after: int
) -> None:
    made(tmp_path / "whole", tokenizer, text())
    before = Chunker.chunk
    kill(after)
    with pytest.raises(KeyboardInterrupt, match=KILLED):
        made(tmp_path / "killed", tokenizer, text())
    Chunker.chunk = before  # type: ignore[method-assign]
    # What was written after the last record is cut off.
    for path in (tmp_path / "killed" / "unfinished").glob("*.tokens*"):
        with path.open("ab") as file:
            file.write(b"more")
    count = -(-21 // 7) * 3
    kill(count - after)
    made(tmp_path / "killed", tokenizer, text())

    assert files(tmp_path / "killed") == files(tmp_path / "whole")


def test_other_options_begin_anew(tmp_path: Path, tokenizer: Tokenizer, kill: Callable[[int], None]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Chunker, "chunk", Chunker.chunk)
        kill(4)
        with pytest.raises(KeyboardInterrupt):
            made(tmp_path / "killed", tokenizer, text())
    keep = FilterConfig(max_length=12)
    corpus = tokenise(text(), tokenizer, keep, tmp_path / "killed")

    assert files(tmp_path / "killed") == files(tokenise(text(), tokenizer, keep, tmp_path / "whole").folder)
    assert len(corpus) < len(PAIRS) - 7


@pytest.mark.parametrize("place", [0, 25])
def test_a_changed_shard_is_named_and_begins_anew(
    tmp_path: Path, tokenizer: Tokenizer, kill: Callable[[int], None], place: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Chunker, "chunk", Chunker.chunk)
        kill(6)
        with pytest.raises(KeyboardInterrupt):
            made(tmp_path / "killed", tokenizer, text())
    changed = [*PAIRS[:place], ("a new line", "eine neue Zeile"), *PAIRS[place + 1 :]]
    messages: list[str] = []
    tokenise(text(pairs=changed), tokenizer, FilterConfig(), tmp_path / "killed", progress=messages.append)

    assert any(f"part-{place // 21}: changed since the run was stopped" in message for message in messages)
    whole = made(tmp_path / "whole", tokenizer, text(pairs=changed))
    assert files(tmp_path / "killed") == files(whole.folder)


def test_a_complete_corpus_is_not_made_again(
    tmp_path: Path, tokenizer: Tokenizer, kill: Callable[[int], None]
) -> None:
    made(tmp_path, tokenizer, text())
    before = files(tmp_path)
    kill(0)
    made(tmp_path, tokenizer, text())
    assert files(tmp_path) == before


@pytest.mark.parametrize("workers", [2, 3])
def test_the_number_of_processes_does_not_matter(
    tmp_path: Path, tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    one = made(tmp_path / "one", tokenizer, text())
    monkeypatch.setattr(Tokenising, "ALONE", 2)
    several = made(tmp_path / "several", tokenizer, text(), workers=workers)

    assert files(several.folder) == files(one.folder)
    assert "duplicate: 6" in one.report
    assert "part-1:" in one.report


def test_a_fault_in_the_text_while_processes_work(
    tmp_path: Path, tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Tokenising, "ALONE", 1)

    def read() -> object:
        yield from (Line(number, *pair) for number, pair in enumerate(PAIRS[:30], 1))
        raise DataError("text:31: not UTF-8")

    with pytest.raises(DataError, match="text:31"):
        made(tmp_path, tokenizer, Corpus("text", read), workers=2)  # type: ignore[arg-type]
    assert not (tmp_path / "about.json").exists()


def test_a_changed_shard_of_complete_tokens_is_named(tmp_path: Path, tokenizer: Tokenizer) -> None:
    made(tmp_path, tokenizer, text())
    changed = text(pairs=[*PAIRS[:30], ("other", "anders"), *PAIRS[31:]])

    assert is_made_from(text(), tmp_path)
    assert is_made_from(text(shards=2), tmp_path)  # the same lines in other files
    assert not is_made_from(changed, tmp_path)
    assert first_change(changed, tmp_path) == "part-1"
    assert "2 files instead of 3" in first_change(text(shards=2, pairs=PAIRS[1:]), tmp_path)


def test_a_damaged_record_begins_anew(
    tmp_path: Path, tokenizer: Tokenizer, kill: Callable[[int], None]
) -> None:
    whole = made(tmp_path / "whole", tokenizer, text())
    for damage in ("{", json.dumps({"lines": 7}), "[]"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Chunker, "chunk", Chunker.chunk)
            kill(4)
            with pytest.raises(KeyboardInterrupt):
                made(tmp_path / "killed", tokenizer, text())
        (tmp_path / "killed" / "unfinished" / "record.json").write_text(damage)
    assert files(made(tmp_path / "killed", tokenizer, text()).folder) == files(whole.folder)
