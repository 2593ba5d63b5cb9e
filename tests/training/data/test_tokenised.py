"""The tokenised corpus on disk: what goes in comes out, filtered, fingerprinted, and sampled by epoch."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.models.folder.test_weights import disk_full_after
from tests.training.small_runs import pairs

from dragoman.base.errors import DataError, DragomanError
from dragoman.text.corpora.corpus import Corpus, Line, open_pairs
from dragoman.text.corpora.filter import FilterConfig
from dragoman.text.tokenizers.tokenizer import Tokenizer, TokenizerConfig
from dragoman.training.data.ragged import Ragged, writing
from dragoman.training.data.tokenised import TokenisedCorpus, is_made_from, tokenise

WORDS = TokenizerConfig(kind="words", vocab_size=14)


@pytest.fixture(scope="module")
def words() -> Tokenizer:
    return Tokenizer.train(pairs(200), WORDS)


@pytest.fixture(scope="module")
def sampling() -> Tokenizer:
    config = TokenizerConfig(vocab_size=60, byte_fallback=False, sampling=0.5)
    return Tokenizer.train(pairs(200), config)


def rows_of(ragged: Ragged) -> list[list[int]]:
    return [ragged[row].tolist() for row in range(len(ragged))]


# Ragged arrays


@pytest.mark.parametrize("rows", [[], [[]], [[1, 2, 3], [], [65535]], [[], [], [7]]])
def test_rows_come_back(rows: list[list[int]], tmp_path: Path) -> None:
    with writing(tmp_path / "a", "uint16") as add:
        for row in rows:
            add(row)

    ragged = Ragged(tmp_path / "a", "uint16")

    assert rows_of(ragged) == rows
    assert ragged.lengths.tolist() == [len(row) for row in rows]


def test_bytes_come_back(tmp_path: Path) -> None:
    with writing(tmp_path / "a", "uint8") as add:
        add("你好".encode())
        add(b"")
        add("é".encode())

    assert [Ragged(tmp_path / "a", "uint8")[row].tobytes().decode() for row in range(3)] == ["你好", "", "é"]


def test_rows_are_read_from_the_file_not_held(tmp_path: Path) -> None:
    with writing(tmp_path / "a", "uint16") as add:
        add([1, 2, 3])

    assert isinstance(Ragged(tmp_path / "a", "uint16").values, np.memmap)


def test_what_fails_half_way_leaves_the_old_rows(tmp_path: Path) -> None:
    with writing(tmp_path / "a", "uint16") as add:
        add([1, 2, 3])

    with pytest.raises(RuntimeError), writing(tmp_path / "a", "uint16") as add:
        add([4])
        raise RuntimeError

    assert rows_of(Ragged(tmp_path / "a", "uint16")) == [[1, 2, 3]]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "a.offsets"]


def test_a_full_disk_is_an_error_and_leaves_the_old_rows(tmp_path: Path) -> None:
    with writing(tmp_path / "a", "uint16") as add:
        add([1, 2, 3])

    with (
        disk_full_after(500),
        pytest.raises(DragomanError, match="cannot be written"),
        writing(tmp_path / "a", "uint16") as add,
    ):
        for _ in range(200):
            add([4])  # 400 bytes of values, 1,608 of offsets

    assert rows_of(Ragged(tmp_path / "a", "uint16")) == [[1, 2, 3]]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "a.offsets"]


# The corpus


def test_pairs_become_tokens_in_their_order(words: Tokenizer, tmp_path: Path) -> None:
    text = pairs(30)

    corpus = tokenise(open_pairs(text), words, FilterConfig(), tmp_path)

    assert len(corpus) == 30
    assert rows_of(corpus.source) == words.encode_source([source for source, _ in text])
    assert rows_of(corpus.target) == words.encode_target([target for _, target in text])


def test_spaces_around_a_line_do_not_count(words: Tokenizer, tmp_path: Path) -> None:
    pairs = [("a dog", "ein Hund"), ("a cat", "eine Katze")]
    bare = tokenise(open_pairs(pairs), words, FilterConfig(), tmp_path / "bare")
    padded = tokenise(
        open_pairs([(f"  {a} ", f"{b}\t") for a, b in pairs]), words, FilterConfig(), tmp_path / "padded"
    )
    assert [padded.source[i].tolist() for i in range(2)] == [bare.source[i].tolist() for i in range(2)]
    assert [padded.target[i].tolist() for i in range(2)] == [bare.target[i].tolist() for i in range(2)]


def test_chunks_make_no_difference(words: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = tokenise(open_pairs(pairs(30)), words, FilterConfig(), tmp_path / "whole")
    monkeypatch.setattr(TokenisedCorpus, "CHUNK", 7)

    chunked = tokenise(open_pairs(pairs(30)), words, FilterConfig(), tmp_path / "chunked")

    assert rows_of(chunked.source) == rows_of(whole.source)
    assert rows_of(chunked.target) == rows_of(whole.target)
    assert chunked.fingerprint == whole.fingerprint


def test_what_is_set_aside_is_reported_and_left_out(words: Tokenizer, tmp_path: Path) -> None:
    text = [
        ("milk salt", "salt milk"),
        ("", "milk"),
        ("corn", " "),
        ("milk salt", "salt milk"),
        ("oil", "oil"),
    ]
    text += [("figs " * 9, "figs")]

    corpus = tokenise(open_pairs(text), words, FilterConfig(max_length=5), tmp_path)

    assert rows_of(corpus.source) == words.encode_source(["milk salt", "oil"])
    for part in ("6 pairs read, 2 kept", "empty source: 1 (line 2)", "empty target", "duplicate", "too long"):
        assert part in corpus.report


def test_rows_know_their_lines(words: Tokenizer, tmp_path: Path) -> None:
    """Also after pairs that were set aside. Folders of version 0.1 have no line numbers."""
    texts = pairs(9)
    lines = [*texts[:2], ("", "bread"), texts[0], *texts[2:]]  # 3 and 4 are set aside
    tokenised = tokenise(open_pairs(lines, name="notes"), words, FilterConfig(), tmp_path)

    assert tokenised.whereabouts([0]) == "line 1 of notes"
    assert tokenised.whereabouts([2, 1]) == "lines 2, 5 of notes"
    assert tokenised.whereabouts([8, 7, 6, 5, 2]) == "lines 5, 8, 9 and 2 more of notes"
    assert (tmp_path / "lines").stat().st_size == 4 * 9

    (tmp_path / "lines").unlink()
    assert TokenisedCorpus(tmp_path, words).whereabouts([8]) == "pair 9 of the tokenised text"


def test_it_opens_again_as_it_was(words: Tokenizer, tmp_path: Path) -> None:
    before = tokenise(open_pairs(pairs(30)), words, FilterConfig(), tmp_path)

    after = TokenisedCorpus(tmp_path, words)

    assert (after.fingerprint, after.report, len(after)) == (before.fingerprint, before.report, 30)
    assert rows_of(after.source) == rows_of(before.source)


def test_the_fingerprint_is_that_of_the_pairs_kept_in_their_order(words: Tokenizer, tmp_path: Path) -> None:
    text = pairs(30)
    changed = [*text[:-1], (text[-1][0], "milk milk milk")]
    variants = [text, [*text, ("", "milk")], text[::-1], text[:-1], changed, [(t, s) for s, t in text]]

    prints = [
        tokenise(open_pairs(variant), words, FilterConfig(), tmp_path / str(number)).fingerprint
        for number, variant in enumerate(variants)
    ]

    assert prints[0] == prints[1]
    assert len(set(prints)) == len(prints) - 1


def test_nothing_left_is_an_error_and_leaves_the_old_corpus(words: Tokenizer, tmp_path: Path) -> None:
    tokenise(open_pairs(pairs(30)), words, FilterConfig(), tmp_path)

    with pytest.raises(DataError, match="no usable pair") as caught:
        tokenise(open_pairs([("", "milk")]), words, FilterConfig(), tmp_path)

    assert "empty source" in str(caught.value)
    assert caught.value.hint
    assert len(TokenisedCorpus(tmp_path, words)) == 30


def test_a_fault_in_the_text_leaves_the_old_corpus(words: Tokenizer, tmp_path: Path) -> None:
    tokenise(open_pairs(pairs(30)), words, FilterConfig(), tmp_path)

    def read() -> Iterator[Line]:
        yield Line(1, "milk", "milk")
        raise DataError("text:2: not UTF-8")

    with pytest.raises(DataError, match="text:2"):
        tokenise(Corpus("text", read), words, FilterConfig(), tmp_path)

    assert len(TokenisedCorpus(tmp_path, words)) == 30


def test_a_large_vocabulary_gets_wider_numbers(words: Tokenizer, tmp_path: Path) -> None:
    class Many:
        config = words.config
        source_size, target_size = 10, 70_000
        vocabularies = ()
        placeholders = ()

        def encode_source(self, lines: list[str]) -> list[list[int]]:
            return [[9] for _ in lines]

        def encode_target(self, lines: list[str]) -> list[list[int]]:
            return [[69_999] for _ in lines]

    corpus = tokenise(open_pairs([("a", "b")]), Many(), FilterConfig(), tmp_path)  # type: ignore[arg-type]

    assert rows_of(corpus.target) == [[69_999]]


# Subword sampling


def test_without_sampling_every_epoch_is_the_same(words: Tokenizer, tmp_path: Path) -> None:
    corpus = tokenise(open_pairs(pairs(30)), words, FilterConfig(), tmp_path)

    assert corpus.epoch(0, seed=1) == corpus.epoch(5, seed=2) == (corpus.source, corpus.target)
    assert (tmp_path / "source.text").stat().st_size == 0  # the text is not kept for nothing


def test_sampling_is_a_function_of_seed_and_epoch(sampling: Tokenizer, tmp_path: Path) -> None:
    corpus = tokenise(open_pairs(pairs(30)), sampling, FilterConfig(), tmp_path)

    def cut(epoch: int, seed: int) -> tuple[list[list[int]], list[list[int]]]:
        source, target = corpus.epoch(epoch, seed=seed)
        return rows_of(source), rows_of(target)

    first = cut(0, 1)
    assert cut(1, 1) != first
    assert cut(0, 2) != first
    assert cut(0, 1) == first
    assert first[0] != rows_of(corpus.source)


def test_sampled_tokens_spell_the_text(sampling: Tokenizer, tmp_path: Path) -> None:
    text = pairs(30)
    corpus = tokenise(open_pairs(text), sampling, FilterConfig(), tmp_path)

    for side, ragged in enumerate(corpus.epoch(3, seed=1)):
        assert [sampling.decode(row) for row in rows_of(ragged)] == [pair[side] for pair in text]


def test_an_epoch_in_use_survives_the_next(sampling: Tokenizer, tmp_path: Path) -> None:
    """Another process may still read the file of the epoch before."""
    corpus = tokenise(open_pairs(pairs(30)), sampling, FilterConfig(), tmp_path)
    source, _ = corpus.epoch(0, seed=1)
    before = rows_of(source)

    corpus.epoch(1, seed=1)

    assert rows_of(source) == before


# Placeholders

COPYING = [("a {x} b", "{x} b a"), ("%s a %d", "a %d %s"), ("a b", "b a"), ("c {y} {z}", "{y} c {z}")] * 25


@pytest.fixture(scope="module", params=["words", "bpe", "sampling"])
def reserving(request: pytest.FixtureRequest) -> Tokenizer:
    options = {"kind": "words"} if request.param == "words" else {"byte_fallback": False}
    sampling = 0.5 * (request.param == "sampling")
    return Tokenizer.train(
        COPYING, TokenizerConfig(vocab_size=40, placeholders=4, sampling=sampling, **options)
    )


def masked_by(
    tokenizer: Tokenizer, folder: Path, epoch: int, seed: int, share: float = 0.5
) -> tuple[list[list[int]], list[list[int]]]:
    """The tokens of an epoch, as another process would read them."""
    if not folder.exists():
        tokenise(open_pairs(COPYING), tokenizer, FilterConfig(drop_duplicates=False), folder)
    corpus = TokenisedCorpus(folder, tokenizer, placeholders=share)
    source, target = corpus.epoch(epoch, seed=seed)
    return rows_of(source), rows_of(target)


def test_masking_is_a_function_of_seed_and_epoch(reserving: Tokenizer, tmp_path: Path) -> None:
    first = masked_by(reserving, tmp_path / "a", 0, 1)
    assert masked_by(reserving, tmp_path / "a", 1, 1) != first
    assert masked_by(reserving, tmp_path / "a", 0, 2) != first
    assert masked_by(reserving, tmp_path / "a", 0, 1) == masked_by(reserving, tmp_path / "b", 0, 1) == first


def test_both_sides_have_the_same_pieces_in_place_of_the_same_text(
    reserving: Tokenizer, tmp_path: Path
) -> None:
    sources, targets = reserving.placeholders
    words = reserving.config.kind == "words"
    forms: dict[tuple[str, str], set[bool]] = {}
    for epoch in range(6):
        for pair, source, target in zip(
            COPYING, *masked_by(reserving, tmp_path / "a", epoch, 1), strict=True
        ):
            ours = {sources.index(token): pair[0] for token in source if token in sources}
            theirs = [targets.index(token) for token in target if token in targets]
            assert sorted(theirs) == sorted(ours)
            assert len(set(theirs)) == len(theirs) == (pair[0].count("{") + pair[0].count("%")) * bool(ours)
            forms.setdefault(pair, set()).add(bool(ours))
            if not ours and not words:
                assert reserving.decode(target) == pair[1]
            if pair == ("a {x} b", "{x} b a") and ours:
                (number,) = ours
                assert reserving.decode(target) == f"⟦{number + 1}⟧ b a"
    assert {pair: seen == {True, False} for pair, seen in forms.items()} == {
        pair: "a b" not in pair for pair in COPYING
    }


def test_a_share_of_the_pairs_is_masked(tmp_path: Path) -> None:
    tokenizer = Tokenizer.train(COPYING, TokenizerConfig(kind="words", vocab_size=40, placeholders=4))
    for share in (0.0, 0.2, 1.0):
        source, _ = masked_by(tokenizer, tmp_path / "a", 3, 1, share)
        masked = sum(any(token in tokenizer.placeholders[0] for token in row) for row in source)
        assert masked / 75 == pytest.approx(share, abs=0.12)
    corpus = TokenisedCorpus(tmp_path / "a", tokenizer)
    assert corpus.epoch(3, seed=1) == (corpus.source, corpus.target)
    assert not any(token in tokenizer.placeholders[0] for row in rows_of(corpus.source) for token in row)


def test_without_reserved_pieces_a_share_changes_nothing(
    words: Tokenizer, sampling: Tokenizer, tmp_path: Path
) -> None:
    for tokenizer in (words, sampling):
        tokenise(open_pairs(COPYING), tokenizer, FilterConfig(), tmp_path)
        epochs = [
            TokenisedCorpus(tmp_path, tokenizer, placeholders=share).epoch(2, seed=1) for share in (0.0, 0.5)
        ]
        assert [rows_of(side) for side in epochs[0]] == [rows_of(side) for side in epochs[1]]
        assert not (tmp_path / "copied").exists()


# Damaged files


@pytest.mark.parametrize("name", ["source.tokens", "target.tokens", "source.tokens.offsets", "about.json"])
@pytest.mark.parametrize("fault", ["flip", "cut", "longer", "gone"])
def test_damaged_tokens_are_not_used(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str, fault: str
) -> None:
    text = open_pairs([("a dog", "ein Hund"), ("a cat", "eine Katze")])
    tokenise(text, Tokenizer.train(pairs(200), WORDS), FilterConfig(), tmp_path)
    assert is_made_from(text, tmp_path) is True
    path = tmp_path / name
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    match fault:
        case "flip":
            path.write_bytes(data)
        case "cut":
            path.write_bytes(data[:-2])
        case "longer":
            path.write_bytes(path.read_bytes() + b"\1\0")
        case "gone":
            path.unlink()

    assert is_made_from(text, tmp_path) is None
    assert "damaged" in caplog.text or name == "about.json"


@pytest.mark.parametrize("fault", ["short", "decreasing", "gone"])
def test_offsets_are_checked_without_digests_too(tmp_path: Path, fault: str) -> None:
    with writing(tmp_path / "rows", "uint16") as add:
        add([1, 2])
        add([3])
    offsets = tmp_path / "rows.offsets"
    match fault:
        case "short":
            (tmp_path / "rows").write_bytes(b"\1\0\2\0")
        case "decreasing":
            offsets.write_bytes(np.array([0, 7, 3], np.int64).tobytes())
        case "gone":
            offsets.unlink()

    with pytest.raises(DataError, match="damaged") as caught:
        Ragged(tmp_path / "rows", "uint16")
    assert "repeat the command" in caught.value.hint


def test_rows_are_copied_as_they_are(tmp_path: Path) -> None:
    rows = [[1, 2], [], [3], [4, 5, 6]]
    with writing(tmp_path / "old", "uint16") as add:
        for row in rows:
            add(row)
    old = Ragged(tmp_path / "old", "uint16")

    with writing(tmp_path / "new", "uint16") as add:
        add([7])
        add.copy(old, 1, 4)
        add.copy(old, 2, 2)
        add([8, 9])
    new = Ragged(tmp_path / "new", "uint16")

    assert [row.tolist() for row in map(new.__getitem__, range(len(new)))] == [
        [7],
        [],
        [3],
        [4, 5, 6],
        [8, 9],
    ]
