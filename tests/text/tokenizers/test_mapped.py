"""Tokenizers whose pieces are numbered by a vocabulary of their own."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
import sentencepiece

from dragoman.base.errors import ConfigError, ModelError
from dragoman.text.tokenizers.ids import Specials
from dragoman.text.tokenizers.mapped import Mapped
from dragoman.text.tokenizers.tokenizer import Tokenizer, TokenizerConfig

TEXT = ["The dog sees a bird.", "A man rides a bike to the old house.", "The birds sing, and we listen."]


def sentencepiece_model(**options: object) -> bytes:
    """A model as other programs train them: it normalises text and has ids of its own."""
    writer = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXT * 20),
        model_writer=writer,
        vocab_size=90,
        hard_vocab_limit=False,
        minloglevel=2,
        **options,
    )
    return writer.getvalue()


@pytest.fixture(scope="module")
def model() -> bytes:
    return sentencepiece_model()


@pytest.fixture(scope="module")
def pieces(model: bytes) -> list[str]:
    """The pieces backwards, without the last letter's, as a vocabulary of Marian has them."""
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    own = [processor.id_to_piece(i) for i in range(3, len(processor))][::-1]
    own.remove("z") if "z" in own else None
    return ["</s>", "<unk>", ">>deu<<", ">>fra<<", *own, "<pad>"]


@pytest.fixture(scope="module")
def specials(pieces: list[str]) -> Specials:
    return Specials(pad=len(pieces) - 1, start=len(pieces) - 1, end=0, unknown=1)


@pytest.fixture(scope="module")
def vocabulary(model: bytes, pieces: list[str], specials: Specials) -> Mapped:
    return Mapped(model, pieces, specials)


def tokenizer_of(vocabulary: Mapped, specials: Specials, **options: object) -> Tokenizer:
    config = TokenizerConfig(kind="mapped", shared=False, **options)
    return Tokenizer(config, vocabulary, vocabulary, specials=specials)


def test_ids_are_the_places_of_the_pieces(model: bytes, pieces: list[str], vocabulary: Mapped) -> None:
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    for line in TEXT:
        expected = [pieces.index(piece) for piece in processor.encode(line, out_type=str)]
        assert vocabulary.encode([line]) == [expected]
        assert vocabulary.decode(expected) == line


def test_a_piece_that_is_not_listed_is_unknown(vocabulary: Mapped) -> None:
    assert 1 in vocabulary.encode(["日"])[0]


def test_special_tokens_have_no_text(vocabulary: Mapped, specials: Specials) -> None:
    (ids,) = vocabulary.encode(["The dog"])
    assert vocabulary.decode([specials.start, *ids, 1, specials.end]) == "The dog"
    tokenizer = tokenizer_of(vocabulary, specials, target_mark="target")
    assert tokenizer.decode([vocabulary.marks["fra"], *ids]) == "The dog"


def test_a_language_token_begins_a_line(vocabulary: Mapped, pieces: list[str]) -> None:
    (plain,) = vocabulary.encode(["The dog"])
    assert vocabulary.encode([">>fra<< The dog"]) == [[pieces.index(">>fra<<"), *plain]]
    assert tuple(vocabulary.marks) == ("deu", "fra")


@pytest.mark.parametrize("line", ["The dog >>fra<< sees", ">>xyz<< The dog", ">> fra << dog"])
def test_elsewhere_it_is_text(vocabulary: Mapped, pieces: list[str], line: str) -> None:
    (ids,) = vocabulary.encode([line])
    assert pieces.index(">>fra<<") not in ids


@pytest.mark.parametrize("line", [*TEXT, "  The  ﬁne ½ dog ", "", "日本", ">>deu<< The dog"])
def test_parts_of_a_line(vocabulary: Mapped, line: str) -> None:
    parts = vocabulary.surfaces(line)
    assert len(parts) == len(vocabulary.encode([line])[0])
    assert "".join(parts) in (line, "")


def test_spans_point_into_the_line(vocabulary: Mapped, specials: Specials) -> None:
    line = "The ﬁne dog"  # SentencePiece normalises the ligature to two letters
    tokenizer = tokenizer_of(vocabulary, specials)
    spans = tokenizer.source_spans(line)
    assert [line[a:b] for a, b in spans if a < b][-1].endswith("g")
    assert all(0 <= a <= b <= len(line) for a, b in spans)


def test_it_is_kept_in_the_folder(
    vocabulary: Mapped, specials: Specials, model: bytes, tmp_path: Path
) -> None:
    tokenizer_of(vocabulary, specials).save(tmp_path)
    again = Tokenizer.load(tmp_path)

    assert (tmp_path / "tokenizer.source.spm").read_bytes() == model  # as it came
    assert json.loads((tmp_path / "tokenizer.json").read_text())["format_version"] == 3
    assert again.specials == specials
    assert again.languages == ("deu", "fra")
    assert again.encode_source(TEXT) == vocabulary.encode(TEXT)
    assert again.decode(again.encode_target(TEXT)[1]) == TEXT[1]


@pytest.mark.parametrize("name", ["tokenizer.target.spm", "tokenizer.target.vocab.json"])
def test_a_changed_file_is_refused(vocabulary: Mapped, specials: Specials, tmp_path: Path, name: str) -> None:
    tokenizer_of(vocabulary, specials).save(tmp_path)
    data = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(ModelError, match="damaged"):
        Tokenizer.load(tmp_path)


def test_a_piece_listed_twice(model: bytes, pieces: list[str], specials: Specials) -> None:
    with pytest.raises(ValueError, match="'<unk>' is listed twice"):
        Mapped(model, [*pieces, "<unk>"], specials)


def test_special_ids_must_be_listed(model: bytes, pieces: list[str], specials: Specials) -> None:
    with pytest.raises(ValueError, match="special id"):
        Mapped(model, pieces[:-1], specials)


def test_it_cannot_be_learned() -> None:
    with pytest.raises(ConfigError, match="cannot be learned"):
        Tokenizer.train([("a", "b")], TokenizerConfig(kind="mapped"))


def test_punctuation_is_normalised_in_the_source(vocabulary: Mapped, specials: Specials) -> None:
    tokenizer = tokenizer_of(vocabulary, specials, punctuation="en")
    assert tokenizer.normalise(["“The  dog…”\u200b"], "source") == ['"The dog..."']
    assert tokenizer.normalise(["“The dog…”"], "target") == ["“The dog…”"]


def test_punctuation_is_for_imported_models() -> None:
    with pytest.raises(ConfigError, match="punctuation"):
        TokenizerConfig(punctuation="en")


def test_the_reserved_pieces_of_an_exported_model_stay_reserved(tmp_path: Path) -> None:
    ours = Tokenizer.train(
        [(text, text) for text in TEXT * 20], TokenizerConfig(vocab_size=320, placeholders=2)
    )
    vocabulary = ours.vocabularies[0]
    pieces = list(reversed(vocabulary.pieces(range(len(vocabulary)))))
    ids = {piece: number for number, piece in enumerate(pieces)}
    specials = Specials(pad=ids["<pad>"], start=ids["<s>"], end=ids["</s>"], unknown=ids["<unk>"])
    mapped = Mapped(vocabulary.to_files()[".spm"], pieces, specials)
    config = TokenizerConfig(kind="mapped", vocab_size=len(pieces))
    Tokenizer(config, mapped, mapped, specials=specials).save(tmp_path)

    again = Tokenizer.load(tmp_path)
    assert again.placeholders == ((ids["⟦1⟧"], ids["⟦2⟧"]),) * 2
    (tokens,) = again.encode_target(["The ⟦2⟧dog ⟦1⟧."])
    assert [token for token in tokens if token in again.placeholders[1]] == [ids["⟦2⟧"], ids["⟦1⟧"]]
    assert again.decode(tokens) == "The ⟦2⟧dog ⟦1⟧."
