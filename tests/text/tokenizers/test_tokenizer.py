"""A tokenizer learns from pairs, is kept in a folder, and comes back the same, or says why not."""

import hashlib
import json
import pickle
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.text.marian import SPECIALS, marian
from tests.text.sentences import DELICATE, PAIRS, SOURCES, TARGETS

from dragoman.base.config import from_table, to_table
from dragoman.base.errors import ConfigError, DataError, ModelError
from dragoman.text.tokenizers import tokenizer as module
from dragoman.text.tokenizers.tokenizer import Tokenizer, TokenizerConfig

CONFIGS = {
    "bpe": TokenizerConfig(vocab_size=360),
    "bpe apart": TokenizerConfig(vocab_size=330, shared=False, sampling=0.2),
    "unigram": TokenizerConfig(kind="unigram", vocab_size=360, sampling=0.2),
    "characters": TokenizerConfig(kind="characters", vocab_size=320),
    "characters apart": TokenizerConfig(kind="characters", vocab_size=320, shared=False),
    "words": TokenizerConfig(kind="words", vocab_size=60),
    "words apart": TokenizerConfig(kind="words", vocab_size=60, shared=False),
    "bpe with placeholders": TokenizerConfig(vocab_size=360, sampling=0.4, placeholders=3),
    "unigram with placeholders apart": TokenizerConfig(
        kind="unigram", vocab_size=340, sampling=0.4, shared=False, placeholders=3
    ),
    "characters with placeholders": TokenizerConfig(kind="characters", vocab_size=320, placeholders=3),
    "words with placeholders": TokenizerConfig(kind="words", vocab_size=64, placeholders=3),
    "words with placeholders apart": TokenizerConfig(
        kind="words", vocab_size=64, placeholders=3, shared=False, lowercase=True
    ),
}


@pytest.fixture(scope="module")
def tokenizers() -> dict[str, Tokenizer]:
    return {name: Tokenizer.train(PAIRS, config) for name, config in CONFIGS.items()}


every = pytest.mark.parametrize("name", CONFIGS)


# Both sides


@every
def test_sizes_and_special_ids(tokenizers: dict[str, Tokenizer], name: str) -> None:
    tokenizer = tokenizers[name]

    assert (tokenizer.pad_id, tokenizer.start_id, tokenizer.end_id, tokenizer.unk_id) == (0, 1, 2, 3)
    assert tokenizer.config == CONFIGS[name]
    for size, pieces, encode, lines in (
        (tokenizer.source_size, tokenizer.source_pieces, tokenizer.encode_source, SOURCES),
        (tokenizer.target_size, tokenizer.target_pieces, tokenizer.encode_target, TARGETS),
    ):
        assert size <= CONFIGS[name].vocab_size
        assert pieces(range(4)) == ["<pad>", "<s>", "</s>", "<unk>"]
        assert len(set(pieces(range(size)))) == size
        assert all(i in range(3, size) for ids in encode(lines) for i in ids)  # no start, no end


@pytest.mark.parametrize("name", ["bpe", "unigram", "characters", "words"])
def test_a_shared_vocabulary_is_one(tokenizers: dict[str, Tokenizer], name: str) -> None:
    tokenizer = tokenizers[name]

    assert tokenizer.source_size == tokenizer.target_size
    assert tokenizer.encode_source(TARGETS) == tokenizer.encode_target(TARGETS)


@pytest.mark.parametrize("kind", ["bpe", "unigram", "words"])
def test_vocabularies_apart_may_have_two_sizes(kind: Any) -> None:
    config = TokenizerConfig(
        kind=kind, vocab_size=60, source_vocab_size=50, shared=False, byte_fallback=False
    )
    tokenizer = Tokenizer.train(PAIRS, config)

    assert (tokenizer.source_size, tokenizer.target_size) == (50, 60)


@pytest.mark.parametrize("name", ["bpe apart", "characters apart", "words apart"])
def test_vocabularies_apart_know_their_own_side(tokenizers: dict[str, Tokenizer], name: str) -> None:
    tokenizer = tokenizers[name]
    sources = set(tokenizer.source_pieces(range(tokenizer.source_size)))
    targets = set(tokenizer.target_pieces(range(tokenizer.target_size)))

    assert any("ö" in piece for piece in targets)
    assert not any("ö" in piece for piece in sources)
    assert tokenizer.encode_source(TARGETS) != tokenizer.encode_target(TARGETS)


@pytest.mark.parametrize("name", [name for name in CONFIGS if "words" not in name])
def test_a_tokenizer_can_be_pickled(tokenizers: dict[str, Tokenizer], name: str) -> None:
    tokenizer = tokenizers[name]
    again = pickle.loads(pickle.dumps(tokenizer))  # noqa: S301  # our own bytes
    (ids,) = tokenizer.encode_source(["A dog sleeps."])
    assert again.encode_source(["A dog sleeps."]) == [ids]


@pytest.mark.parametrize("name", [name for name in CONFIGS if "words" not in name])
def test_targets_come_back_whole(tokenizers: dict[str, Tokenizer], name: str) -> None:
    tokenizer = tokenizers[name]
    lines = TARGETS + DELICATE
    ids = tokenizer.encode_target(lines)

    assert [tokenizer.decode(line) for line in ids] == lines
    assert [tokenizer.decode([1, *line, 2, 0, 0]) for line in ids] == lines


# Special ids


def test_a_tokenizer_may_start_with_padding() -> None:
    tokenizer, size = marian(), marian().target_size

    assert (tokenizer.pad_id, tokenizer.start_id, tokenizer.end_id, tokenizer.unk_id) == (
        size - 1,
        size - 1,
        0,
        1,
    )
    assert tokenizer.target_pieces([tokenizer.start_id, tokenizer.end_id]) == ["<pad>", "</s>"]
    for ids, line in zip(tokenizer.encode_target(TARGETS + DELICATE), TARGETS + DELICATE, strict=True):
        assert not SPECIALS.ids & set(ids)
        assert tokenizer.decode([tokenizer.start_id, *ids, tokenizer.end_id, tokenizer.pad_id]) == line
    samples = tokenizer.sample(SOURCES, side="source", seed=1)
    assert [tokenizer.decode(ids) for ids in samples] == SOURCES


def test_special_ids_are_saved_if_they_are_not_the_usual_ones(
    tokenizers: dict[str, Tokenizer], tmp_path: Path
) -> None:
    tokenizers["bpe"].save(tmp_path / "ours")
    ours = json.loads((tmp_path / "ours" / "tokenizer.json").read_text())
    assert (ours["format_version"], "specials" in ours) == (1, False)  # so that version 0.1 reads it

    marian().save(tmp_path / "theirs")
    theirs = json.loads((tmp_path / "theirs" / "tokenizer.json").read_text())
    assert (theirs["format_version"], theirs["specials"]["end"]) == (2, 0)
    again = Tokenizer.load(tmp_path / "theirs")
    assert again.specials == SPECIALS
    assert again.encode_source(SOURCES) == marian().encode_source(SOURCES)


# Sampling


@pytest.mark.parametrize("name", ["bpe apart", "unigram"])
def test_sampling_is_a_function_of_side_and_seed(tokenizers: dict[str, Tokenizer], name: str) -> None:
    tokenizer = tokenizers[name]
    once = tokenizer.sample(TARGETS, side="target", seed=1)

    assert once == tokenizer.sample(TARGETS, side="target", seed=1)
    assert once != tokenizer.sample(TARGETS, side="target", seed=2)
    assert once != tokenizer.encode_target(TARGETS)
    assert [tokenizer.decode(ids) for ids in once] == TARGETS
    sources = tokenizer.sample(SOURCES, side="source", seed=1)
    assert ["".join(tokenizer.source_pieces(ids)) for ids in sources[:3]] == [
        "▁" + line.replace(" ", "▁") for line in SOURCES[:3]
    ]


@pytest.mark.parametrize("name", ["bpe", "characters", "words apart"])
def test_no_sampling_is_plain_encoding(tokenizers: dict[str, Tokenizer], name: str) -> None:
    tokenizer = tokenizers[name]

    assert tokenizer.sample(SOURCES, side="source", seed=1) == tokenizer.encode_source(SOURCES)
    assert tokenizer.sample(TARGETS, side="target", seed=1) == tokenizer.encode_target(TARGETS)


# Learning


def test_pairs_are_read_once_as_a_stream(tokenizers: dict[str, Tokenizer], tmp_path: Path) -> None:
    read = []

    def stream() -> Iterator[tuple[str, str]]:
        for pair in PAIRS:
            read.append(pair)
            yield pair

    tokenizer = Tokenizer.train(stream(), CONFIGS["bpe apart"])

    assert read == PAIRS
    assert tokenizer.encode_source(SOURCES) == tokenizers["bpe apart"].encode_source(SOURCES)


def test_of_many_pairs_some_are_drawn_by_the_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_ENOUGH", 100)
    pairs = [(f"word{n}", f"wort{n}") for n in range(1000)]
    config = TokenizerConfig(kind="words", vocab_size=5000)

    def known(seed: int) -> set[str]:
        tokenizer = Tokenizer.train(iter(pairs), config, seed=seed)
        return set(tokenizer.source_pieces(range(4, tokenizer.source_size)))

    first = known(1)
    assert len(first) == 200
    assert {word[2:].removeprefix("ort") for word in first if "wort" in word} == {
        word[2:].removeprefix("ord") for word in first if "word" in word
    }  # whole pairs
    assert known(1) == first
    assert known(2) != first
    drawn = sorted(int(word.removeprefix("▁word")) for word in first if "word" in word)
    assert 300 < drawn[50] < 700  # from the whole text, not its beginning


def test_no_pairs() -> None:
    with pytest.raises(DataError):
        Tokenizer.train([], TokenizerConfig())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"vocab_size": 260}, "vocab_size = 260.*at least 261"),
        ({"source_vocab_size": 260, "shared": False}, "source_vocab_size = 260.*at least 261"),
        ({"source_vocab_size": 300}, "source_vocab_size = 300.*share a vocabulary"),
        ({"vocab_size": 4, "kind": "words"}, "vocab_size = 4.*from 5 to"),
        ({"vocab_size": 4, "byte_fallback": False}, "vocab_size = 4.*from 5 to"),
        ({"character_coverage": 0.979}, "character_coverage"),
        ({"character_coverage": 1.01}, "character_coverage"),
        ({"character_coverage": float("nan")}, "character_coverage"),
        ({"sampling": 1.0}, "sampling"),
        ({"sampling": -0.1}, "sampling"),
        ({"sampling": float("nan")}, "sampling"),
        ({"sampling": 0.1, "kind": "words"}, "words can be cut in one way only"),
        ({"sampling": 0.1, "kind": "characters"}, "characters can be cut in one way only"),
    ],
)
def test_options_that_make_no_sense(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        TokenizerConfig(**options)
    assert re.search(message, f"{caught.value} {caught.value.hint}")
    assert caught.value.hint


# The folder


@every
def test_saved_and_loaded_it_is_the_same(tokenizers: dict[str, Tokenizer], name: str, tmp_path: Path) -> None:
    tokenizer = tokenizers[name]
    tokenizer.save(tmp_path / "model")
    again = Tokenizer.load(tmp_path / "model")

    assert again.config == tokenizer.config
    assert again.encode_source(SOURCES + DELICATE) == tokenizer.encode_source(SOURCES + DELICATE)
    assert again.encode_target(TARGETS + DELICATE) == tokenizer.encode_target(TARGETS + DELICATE)
    assert again.sample(TARGETS, side="target", seed=3) == tokenizer.sample(TARGETS, side="target", seed=3)
    suffix = "words.json" if name.startswith("words") else "spm"
    sides = [".source", ".target"] if "apart" in name else [""]
    files = {"tokenizer.json"} | {f"tokenizer{side}.{suffix}" for side in sides}
    assert {path.name for path in (tmp_path / "model").iterdir()} == files


def test_saving_again_gives_the_same_bytes(tokenizers: dict[str, Tokenizer], tmp_path: Path) -> None:
    tokenizers["bpe"].save(tmp_path / "a")
    Tokenizer.load(tmp_path / "a").save(tmp_path / "b")

    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()


@pytest.fixture
def folder(tokenizers: dict[str, Tokenizer], tmp_path: Path) -> Path:
    tokenizers["bpe apart"].save(tmp_path)
    return tmp_path


def refusal(folder: Path) -> str:
    with pytest.raises(ModelError) as caught:
        Tokenizer.load(folder)
    assert caught.value.hint
    return str(caught.value)


@pytest.mark.parametrize("name", ["tokenizer.json", "tokenizer.source.spm", "tokenizer.target.spm"])
def test_a_missing_file(folder: Path, name: str) -> None:
    (folder / name).unlink()

    assert refusal(folder) == f"{folder}/{name}: missing"


def test_a_missing_folder(tmp_path: Path) -> None:
    assert "missing" in refusal(tmp_path / "gone")


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "swapped"])
def test_a_damaged_vocabulary(folder: Path, damage: str) -> None:
    path = folder / "tokenizer.target.spm"
    data = bytearray(path.read_bytes())
    match damage:
        case "cut":
            path.write_bytes(data[:-100])
        case "flipped":
            data[len(data) // 2] ^= 1
            path.write_bytes(data)
        case "empty":
            path.write_bytes(b"")
        case "swapped":
            shutil.copy(folder / "tokenizer.source.spm", path)

    assert "tokenizer.target.spm: damaged" in refusal(folder)


@pytest.mark.parametrize("data", [b"[" * 100_000, b'{"a":' * 100_000, b"[1]", b"{}", b"\xff", b"1" * 5000])
def test_a_list_of_words_that_is_hostile(data: bytes, tmp_path: Path) -> None:
    """With the digest of a stranger, who can compute it, too."""
    table = {
        "format_version": 1, "config": {"kind": "words", "shared": True},
        "files": {"tokenizer.words.json": hashlib.blake2b(data, digest_size=16).hexdigest()},
    }  # fmt: skip
    (tmp_path / "tokenizer.json").write_text(json.dumps(table))
    (tmp_path / "tokenizer.words.json").write_bytes(data)

    assert "tokenizer.words.json: " in refusal(tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format_version": 6}, "format_version 6"),
        ({"format_version": None}, "format_version None"),
        ({"format_version": True}, "format_version True"),
        ({"config": {"kind": "syllables"}}, "syllables"),
        ({"config": {"new_option": 1}}, "new_option"),
        ({"config": 5}, "not a tokenizer's configuration"),
        ({"files": {}}, "not a tokenizer's configuration"),
        ({"files": None}, "not a tokenizer's configuration"),
        ({"specials": {"pad": 330}}, "a special id is not in the vocabulary"),
        ({"specials": {"pad": -1}}, "a special id is not in the vocabulary"),
        ({"specials": {"pad": "<pad>"}}, "not a tokenizer's configuration"),
        ({"specials": {"padding": 0}}, "not a tokenizer's configuration"),
        ({"specials": None}, "not a tokenizer's configuration"),
    ],
)
def test_a_table_that_makes_no_sense(folder: Path, change: dict[str, Any], message: str) -> None:
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))

    assert message in refusal(folder)


@pytest.mark.parametrize("text", ["", "{", "[]", "\xff"])
def test_a_table_that_is_none(folder: Path, text: str) -> None:
    (folder / "tokenizer.json").write_bytes(text.encode("latin-1"))

    assert "tokenizer.json: not" in refusal(folder)


def test_the_configuration_survives_as_a_table() -> None:
    for config in CONFIGS.values():
        assert from_table(TokenizerConfig, to_table(config)) == config
    assert replace(CONFIGS["bpe"], sampling=0.1) != CONFIGS["bpe"]


@pytest.mark.parametrize("lowercase", ["sauce", 1, "true"])
def test_a_case_that_is_none(lowercase: Any) -> None:
    assert from_table(TokenizerConfig, {"lowercase": "source"}).lowercase == "source"
    with pytest.raises(ConfigError, match="lowercase") as caught:
        from_table(TokenizerConfig, {"lowercase": lowercase})
    assert caught.value.hint == "it must be one of: false, true, source"


@pytest.mark.parametrize("kind", ["bpe", "words"])
@pytest.mark.parametrize("shared", [True, False])
def test_a_source_alone_in_lower_case(kind: Any, shared: bool, tmp_path: Path) -> None:
    """How the source is written makes no difference; the target keeps its capitals."""
    pairs = [(source.upper(), target) for source, target in PAIRS]
    config = TokenizerConfig(kind=kind, vocab_size=330, shared=shared, lowercase="source", sampling=0.0)
    Tokenizer.train(pairs, config).save(tmp_path)
    tokenizer = Tokenizer.load(tmp_path)

    assert tokenizer.encode_source([line.lower() for line in SOURCES]) == tokenizer.encode_source(SOURCES)
    assert tokenizer.sample(SOURCES, side="source", seed=1) == tokenizer.encode_source(SOURCES)
    assert [tokenizer.decode(ids) for ids in tokenizer.encode_target(TARGETS)] == list(TARGETS)
    if not shared:
        assert not any(
            piece != piece.lower() for piece in tokenizer.source_pieces(range(260, tokenizer.source_size))
        )


@pytest.mark.parametrize("kind", ["bpe", "characters", "words"])
@pytest.mark.parametrize("shared", [True, False])
def test_in_lower_case_a_capital_makes_no_difference(kind: Any, shared: bool, tmp_path: Path) -> None:
    config = TokenizerConfig(kind=kind, vocab_size=330, shared=shared, lowercase=True)
    Tokenizer.train(PAIRS, config).save(tmp_path)
    tokenizer = Tokenizer.load(tmp_path)

    for encode, lines in ((tokenizer.encode_source, SOURCES), (tokenizer.encode_target, TARGETS)):
        assert encode([line.lower() for line in lines]) == encode(lines)
    for line, ids in zip(TARGETS, tokenizer.encode_target(TARGETS), strict=True):
        assert tokenizer.decode(ids) == line.lower()
    assert not any(
        piece != piece.lower() for piece in tokenizer.target_pieces(range(260, tokenizer.target_size))
    )


# Reserved pieces

reserving = pytest.mark.parametrize("name", [name for name in CONFIGS if "placeholders" in name])
WITH_PIECES = [
    "⟦1⟧", "⟦3⟧⟦1⟧⟦2⟧", "  ⟦2⟧  ", "a ⟦1⟧ b", "a⟦1⟧b",
    "(⟦2⟧)!", "⟦1⟧, ⟦2⟧.", "\u00a0⟦1⟧\u00a0", "日⟦1⟧本", "⟦2⟧s",
]  # fmt: skip


@reserving
@pytest.mark.parametrize("line", WITH_PIECES)
def test_a_reserved_piece_is_one_token_anywhere(
    tokenizers: dict[str, Tokenizer], name: str, line: str
) -> None:
    tokenizer = tokenizers[name]
    numbers = [int(number) - 1 for number in re.findall(r"⟦(.)⟧", line)]
    sides = (("source", tokenizer.encode_source), ("target", tokenizer.encode_target))
    for (side, encode), ids in zip(sides, tokenizer.placeholders, strict=True):
        for tokens in (*encode([line]), *(tokenizer.sample([line], side=side, seed=n)[0] for n in range(9))):
            assert [ids.index(token) for token in tokens if token in ids] == numbers
            if side == "target" and "words" not in name:
                assert tokenizer.decode(tokens) == line


@reserving
def test_spaces_around_reserved_pieces_stay(tokenizers: dict[str, Tokenizer], name: str) -> None:
    tokenizer = tokenizers[name]
    for line in ("⟦1⟧", "⟦1⟧ ⟦2⟧", "⟦1⟧⟦2⟧", "⟦1⟧  ⟦2⟧"):
        assert tokenizer.decode(tokenizer.encode_target([line])[0]) == line
        assert [line[start:end] for start, end in tokenizer.source_spans(line) if end > start] == re.findall(
            "⟦.⟧", line
        )


@reserving
def test_the_ids_of_the_placeholders_are_those_of_their_pieces(
    tokenizers: dict[str, Tokenizer], name: str, tmp_path: Path
) -> None:
    tokenizer = tokenizers[name]
    tokenizer.save(tmp_path)
    for one in (tokenizer, Tokenizer.load(tmp_path)):
        source, target = one.placeholders
        assert one.source_pieces(source) == one.target_pieces(target) == ["⟦1⟧", "⟦2⟧", "⟦3⟧"]
        assert one.config == CONFIGS[name]
    assert json.loads((tmp_path / "tokenizer.json").read_text())["format_version"] == 4


@reserving
def test_a_piece_with_another_number_is_text(tokenizers: dict[str, Tokenizer], name: str) -> None:
    tokenizer = tokenizers[name]
    for line in ("⟦4⟧", "⟦01⟧", "⟦0⟧", "⟦ 1⟧", "⟦1"):
        (tokens,) = tokenizer.encode_target([line])
        (sampled,) = tokenizer.sample([line], side="target", seed=1)
        assert not {*tokens, *sampled} & set(tokenizer.placeholders[1])
        if "words" not in name:
            assert tokenizer.decode(tokens) == tokenizer.decode(sampled) == line


@pytest.mark.parametrize("name", ["bpe", "characters", "words"])
def test_without_placeholders_the_files_are_those_of_earlier_releases(
    tokenizers: dict[str, Tokenizer], name: str, tmp_path: Path
) -> None:
    tokenizer = tokenizers[name]
    tokenizer.save(tmp_path)
    table = json.loads((tmp_path / "tokenizer.json").read_text())

    assert tokenizer.placeholders == ()
    assert table["format_version"] == 1
    assert "placeholders" not in table["config"]
    none = Tokenizer.train(PAIRS, replace(CONFIGS[name], placeholders=0))
    assert none.vocabularies[0].to_files() == tokenizer.vocabularies[0].to_files()


@pytest.mark.parametrize(
    ("source", "target", "count"),
    [
        ("Copy %s.", "Kopiere %s.", 10),
        ("Copy {name}.", "Kopiere {name}.", 10),
        ("Copy {name}.", "Kopiere {Name}.", 0),
        ("Copy %s.", "Kopiere.", 0),
        ("In 1999 at https://a.org", "1999 auf https://a.org", 0),
    ],
)
def test_pieces_are_reserved_where_the_text_has_placeholders(source: str, target: str, count: int) -> None:
    config = TokenizerConfig(vocab_size=360)
    for plain, expected in ((499, count), (500, 0)):
        tokenizer = Tokenizer.train([(source, target), *[("A dog.", "Ein Hund.")] * plain], config)
        assert len((tokenizer.placeholders or ((),))[0]) == expected
    assert Tokenizer.train([(source, target)], replace(config, placeholders=0)).placeholders == ()


def test_placeholders_and_files_that_do_not_belong_together(
    tokenizers: dict[str, Tokenizer], tmp_path: Path
) -> None:
    tokenizers["bpe with placeholders"].save(tmp_path)
    path = tmp_path / "tokenizer.json"
    path.write_text(path.read_text().replace('"placeholders": 3', '"placeholders": 4'))
    assert "other placeholders" in refusal(tmp_path)


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        (
            {"vocab_size": 270, "placeholders": 10},
            "at least 271: 4 .* special and 256 .* bytes and 10 .* place",
        ),
        ({"vocab_size": 14, "placeholders": 10, "byte_fallback": False}, "at least 15"),
        ({"kind": "words", "vocab_size": 15, "placeholders": 10}, "at least 16"),
        ({"kind": "mapped", "placeholders": 10}, "leave it out"),
        ({"placeholders": -1}, "from 0 to"),
        ({"placeholders": "some"}, "auto"),
    ],
)
def test_placeholders_that_do_not_fit_are_refused(options: dict[str, Any], hint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        TokenizerConfig(**options)
    assert re.search(hint, str(caught.value.hint) + str(caught.value))


# Any text


@pytest.mark.parametrize("name", [name for name in CONFIGS if "words" not in name])
@settings(max_examples=60)
@given(lines=st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1, max_size=4))
def test_any_text_comes_back_but_for_the_mark_of_a_space(
    tokenizers: dict[str, Tokenizer], name: str, lines: list[str]
) -> None:
    tokenizer = tokenizers[name]
    ids = tokenizer.encode_target(lines)

    assert [tokenizer.decode(line) for line in ids] == [line.replace("▁", " ") for line in lines]
    assert ids == [tokenizer.encode_target([line])[0] for line in lines]  # whatever stands beside it
    assert all(3 < i < tokenizer.target_size for line in ids for i in line)
    assert all(3 <= i < tokenizer.source_size for line in tokenizer.encode_source(lines) for i in line)


@every
@settings(max_examples=60)
@given(data=st.data())
def test_any_ids_are_text(tokenizers: dict[str, Tokenizer], name: str, data: st.DataObject) -> None:
    """A model may write any tokens, also bytes that are not UTF-8."""
    tokenizer = tokenizers[name]
    ids = data.draw(st.lists(st.integers(0, tokenizer.target_size - 1), max_size=20))

    tokenizer.decode(ids).encode("utf-8")


@pytest.mark.parametrize("name", [name for name in CONFIGS if "words" in name])
@settings(max_examples=60)
@given(text=st.text(st.characters(exclude_categories=["Cs"])))
def test_words_keep_known_words_and_show_the_others(
    tokenizers: dict[str, Tokenizer], name: str, text: str
) -> None:
    """Unknown words are lost; text of known words decodes to text with the same ids."""
    tokenizer = tokenizers[name]
    [ids] = tokenizer.encode_target([text])

    assert all(3 <= i < tokenizer.target_size for i in ids)
    if 3 not in ids:
        assert tokenizer.encode_target([tokenizer.decode(ids)]) == [ids]
