"""Vocabularies with new pieces and marks: what keeps its id, and what is cut how."""

from __future__ import annotations

import io
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
from tests.text.sentences import DELICATE, SOURCES, TARGETS

from dragoman.text.tokenizers.extend import extend
from dragoman.text.tokenizers.ids import Specials
from dragoman.text.tokenizers.mapped import Mapped
from dragoman.text.tokenizers.tokenizer import Tokenizer, TokenizerConfig

OLD = SOURCES[:8] + TARGETS[:8]
NEW = [  # Bulgarian, which shares no letters with the old text
    "Пекарят отваря магазина преди изгрев слънце.",
    "Сестра ми свири вечер на цигулка.",
    "Пекарят продава хляб и малки сладки.",
    "Вечер магазинът е затворен, градината също.",
    "Градината е затворена, магазинът е отворен.",
] * 3
CZECH = [
    "Pekař otevírá obchod před východem slunce.",
    "Moje sestra hraje večer na housle.",
    "Pekař prodává chléb a malé koláče.",
    "Zahrada je zavřená, obchod je otevřený.",
] * 3


@cache
def learnt(**options: Any) -> Tokenizer:
    pairs = list(zip(SOURCES, TARGETS, strict=True)) * 3
    return Tokenizer.train(pairs, TokenizerConfig(**({"vocab_size": 420, "placeholders": 3} | options)))


@pytest.fixture(scope="module", params=["bpe", "unigram"])
def old(request: pytest.FixtureRequest) -> Tokenizer:
    return learnt(kind=request.param)


@cache
def mapped(*, byte_fallback: bool = False) -> Tokenizer:
    """One list for two models, one of them of each side, as in OPUS-MT."""
    models, names = [], ["</s>", "<unk>", ">>deu<<", ">>fra<<"]
    for text in (SOURCES[:8], TARGETS[:8]):
        writer = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(text * 20), model_writer=writer, vocab_size=360, hard_vocab_limit=False,
            minloglevel=2, byte_fallback=byte_fallback,
        )  # fmt: skip
        models.append(writer.getvalue())
        processor = sentencepiece.SentencePieceProcessor(model_proto=models[-1])
        names += [processor.id_to_piece(i) for i in range(3, len(processor))]
    pieces = [*dict.fromkeys(names), "<pad>"]
    specials = Specials(pad=len(pieces) - 1, start=len(pieces) - 1, end=0, unknown=1)
    sides = [Mapped(model, pieces, specials) for model in models]
    config = TokenizerConfig(kind="mapped", shared=False)
    return Tokenizer(config, *sides, specials=specials)


def tokens(tokenizer: Tokenizer, lines: list[str]) -> int:
    return sum(map(len, tokenizer.encode_source(lines)))


def test_old_pieces_keep_their_ids_and_old_text_its_cut(old: Tokenizer) -> None:
    new = extend(old, NEW, ["de", "bg"], most=60)[0]

    assert new.source_size == old.source_size + 60 + 2
    assert new.source_pieces(range(old.source_size)) == old.source_pieces(range(old.source_size))
    assert new.encode_source(OLD) == old.encode_source(OLD)
    assert new.placeholders == old.placeholders
    assert new.encode_source(["⟦2⟧ a ⟦1⟧"]) == old.encode_source(["⟦2⟧ a ⟦1⟧"])
    assert (new.config.vocab_size, new.specials) == (new.source_size, old.specials)


def test_new_text_has_fewer_tokens(old: Tokenizer) -> None:
    new = extend(old, NEW, ["bg"], most=200)[0]
    before, after = tokens(old, NEW), tokens(new, NEW)

    assert after < before / 3
    assert not any(
        piece.startswith("<0x") for ids in new.encode_source(NEW) for piece in new.source_pieces(ids)
    )
    assert tokens(extend(old, NEW, ["bg"], most=20)[0], NEW) > after
    assert extend(old, NEW, ["bg"], most=200)[0].encode_source(NEW) == new.encode_source(NEW)


def test_old_text_of_the_same_alphabet_is_mostly_cut_as_before() -> None:
    old = learnt()
    new = extend(old, CZECH, ["cs"], most=200)[0]

    assert tokens(new, CZECH) < tokens(old, CZECH) / 2
    same = [a == b for a, b in zip(old.encode_source(OLD), new.encode_source(OLD), strict=True)]
    assert sum(same) > len(OLD) / 2
    assert set(new.source_pieces(new.encode_source(["Večer"])[0])) & set(
        new.source_pieces(range(old.source_size, new.source_size))
    )


def test_text_comes_back(old: Tokenizer) -> None:
    new = extend(old, NEW, ["bg"], most=200)[0]
    for line in [*DELICATE, *NEW, *OLD]:
        assert new.decode(new.encode_target([line])[0]) == old.decode(old.encode_target([line])[0])


def test_the_new_pieces_are_words_and_parts_of_words(old: Tokenizer) -> None:
    new = extend(old, ["x1 y2, x1 y2. (ab) ab-cd"] * 9, [], most=50)[0]
    added = new.source_pieces(range(old.source_size, new.source_size))

    assert added
    assert all(piece.removeprefix("▁").isalpha() or len(piece) == 1 for piece in added)


def test_old_ids_spell_the_new_ones(old: Tokenizer) -> None:
    new, source, target = extend(old, NEW, ["bg"], most=200)
    assert source == target
    assert source[-1] == []  # the mark
    for i, spelled in enumerate(source[:-1], old.source_size):
        (piece,) = new.source_pieces([i])
        assert old.decode(spelled).strip() == piece.replace("▁", " ").strip()


def test_marks_stand_at_the_end_and_are_kept(old: Tokenizer, tmp_path: Path) -> None:
    once = extend(old, NEW, ["de", "bg"], most=30)[0]
    twice, source, _ = extend(once, NEW, ["pl"], most=30)
    twice.save(tmp_path)
    again = Tokenizer.load(tmp_path)

    assert once.languages == ("de", "bg")
    assert once.encode_source([">>bg<< Garten"])[0][0] == once.source_size - 1
    assert again.languages == ("de", "bg", "pl")
    assert again.encode_source([">>bg<< Garten"]) == once.encode_source([">>bg<< Garten"])
    assert again.encode_source([">>pl<<"]) == [[again.source_size - 1]]
    assert source[-1] == [once.source_size - 2, once.source_size - 1]  # the marks that it had
    assert again.address(None, "pl") == ">>pl<< "


def test_marks_of_training_keep_their_place() -> None:
    old = learnt(languages=("de", "fr"))
    new = extend(old, NEW, ["bg"], most=30)[0]

    assert new.languages == ("de", "fr", "bg")
    assert new.encode_source([">>fr<< Garten"]) == old.encode_source([">>fr<< Garten"])
    assert new.placeholders == old.placeholders


def test_a_vocabulary_for_each_side() -> None:
    old = learnt(shared=False, source_vocab_size=400)
    new, source, target = extend(old, NEW, ["bg"], most=30)

    assert new.encode_source(OLD) == old.encode_source(OLD)
    assert new.encode_target(OLD) == old.encode_target(OLD)
    sizes = len(source), len(target)
    assert sizes == (new.source_size - old.source_size, new.target_size - old.target_size)
    assert new.encode_target([">>bg<<"]) == [[new.target_size - 1]]


def test_lowercase_sources() -> None:
    old = learnt(lowercase="source")
    new = extend(old, NEW, ["bg"], most=200)[0]

    assert "▁Пекарят" in new.target_pieces(new.encode_target(NEW)[0])
    assert "▁пекарят" in new.source_pieces(new.encode_source(NEW)[0])


def test_subwords_are_sampled_from_new_pieces(old: Tokenizer) -> None:
    new = extend(learnt(kind=old.config.kind, sampling=0.3), NEW, ["bg"], most=200)[0]
    cut = new.sample(NEW, side="source", seed=1)
    assert [new.decode(ids) for ids in cut] == NEW
    assert any(i >= old.source_size for ids in cut for i in ids)


@pytest.mark.parametrize("byte_fallback", [False, True])
def test_pieces_numbered_by_a_list(byte_fallback: bool, tmp_path: Path) -> None:
    old = mapped(byte_fallback=byte_fallback)
    new, source, target = extend(old, NEW, ["bul"], most=80)
    new.save(tmp_path)
    again = Tokenizer.load(tmp_path)

    assert again.languages == ("deu", "fra", "bul")
    assert again.encode_source(SOURCES[:8]) == old.encode_source(SOURCES[:8])
    assert again.encode_target(TARGETS[:8]) == old.encode_target(TARGETS[:8])
    assert again.specials == old.specials
    every = range(again.source_size)
    assert again.source_pieces(every) == again.target_pieces(every)  # still one list
    assert source == target
    if byte_fallback:  # else, characters in a row are one unknown token
        assert tokens(again, NEW) < tokens(old, NEW) / 3
    assert again.unk_id not in {i for ids in again.encode_target(NEW) for i in ids}
    assert [again.decode(ids) for ids in again.encode_target(NEW)] == NEW
    assert again.encode_source([">>bul<< The"])[0][0] == again.source_size - 1
    assert source[-1] == [2, 3]
