"""Subwords lose no text, repeat exactly for a seed, and print nothing."""

import io
import logging
import math
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterable
from typing import Literal

import pytest
import sentencepiece
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.text.sentences import DELICATE, SOURCES, TARGETS

from dragoman.base.errors import ConfigError, DataError
from dragoman.text.tokenizers.subwords import Subwords, train

Kind = Literal["bpe", "unigram", "characters"]
KINDS: tuple[Kind, ...] = ("bpe", "unigram", "characters")


def learn(
    kind: Kind = "bpe",
    lines: Iterable[str] = SOURCES + TARGETS,
    *,
    vocab_size: int = 380,
    byte_fallback: bool = True,
    character_coverage: float = 1.0,
) -> Subwords:
    return train(
        lines,
        kind,
        vocab_size=vocab_size,
        byte_fallback=byte_fallback,
        character_coverage=character_coverage,
    )


MODELS = {kind: learn(kind) for kind in KINDS}


# Round trips


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text", [*DELICATE, *SOURCES, *TARGETS])
def test_delicate_text_comes_back(kind: Kind, text: str) -> None:
    [ids] = MODELS[kind].encode([text])

    assert MODELS[kind].decode(ids) == text
    assert all(3 < i < len(MODELS[kind]) for i in ids)  # nothing special, nothing unknown


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=200)
@given(text=st.text(st.characters(exclude_characters="▁", exclude_categories=["Cs"])))
@example(text=" ▅\0\n")
def test_any_text_comes_back_with_byte_fallback(kind: Kind, text: str) -> None:
    [ids] = MODELS[kind].encode([text])

    assert MODELS[kind].decode(ids) == text
    assert 3 not in ids


@pytest.mark.parametrize("kind", KINDS)
def test_the_one_character_that_is_lost(kind: Kind) -> None:
    assert MODELS[kind].decode(MODELS[kind].encode(["a▁b"])[0]) == "a b"


@pytest.mark.parametrize("kind", KINDS)
def test_many_lines_are_encoded_as_each_alone(kind: Kind) -> None:
    lines = [f"{line} {n}" for n in range(60) for line in SOURCES + TARGETS]  # enough for several threads
    assert len(lines) > 1000

    together = MODELS[kind].encode(lines)
    assert together == [MODELS[kind].encode([line])[0] for line in lines]
    assert MODELS[kind].encode([]) == []


def test_without_byte_fallback_what_was_never_seen_is_unknown() -> None:
    model = learn(byte_fallback=False, vocab_size=150)

    assert 3 in model.encode(["Ω"])[0]
    assert model.decode(model.encode(["a Ω b"])[0]).split() == ["a", "⁇", "b"]
    assert not any(piece.startswith("<0x") for piece in model.pieces(range(len(model))))


def test_half_a_surrogate_pair_is_an_error_not_a_crash() -> None:
    with pytest.raises(DataError, match="surrogate"):
        MODELS["bpe"].encode(["fine", "\ud83d"])


def test_ids_that_no_text_gives_still_decode() -> None:
    model = MODELS["bpe"]
    [byte] = [i for i in range(len(model)) if model.pieces([i]) == ["<0xE4>"]]

    assert model.decode([0, 1, 2]) == ""
    assert model.decode([byte]) == "�"
    assert model.decode([]) == ""


# What is learnt


def test_special_ids_come_first() -> None:
    for model in MODELS.values():
        assert model.pieces(range(4)) == ["<pad>", "<s>", "</s>", "<unk>"]


def test_characters_are_characters() -> None:
    model = MODELS["characters"]

    assert model.pieces(model.encode(["你好啊。"])[0]) == ["你", "好", "啊", "。"]
    assert model.pieces(model.encode([" a b"])[0]) == ["▁", "a", "▁", "b"]
    assert model.pieces(model.encode(["Ω"])[0]) == ["<0xCE>", "<0xA9>"]


def test_subwords_join_what_often_stands_together() -> None:
    for kind in ("bpe", "unigram"):
        ids = MODELS[kind].encode(["The baker opens the window."])[0]
        assert len(ids) < len("The baker opens the window.") * 0.7


@pytest.mark.parametrize("kind", KINDS)
def test_learning_is_deterministic(kind: Kind) -> None:
    assert learn(kind).to_bytes() == MODELS[kind].to_bytes()
    assert learn(kind, SOURCES).to_bytes() != MODELS[kind].to_bytes()


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_a_vocabulary_too_large_is_cut_and_the_log_says_so(
    kind: Kind, caplog: pytest.LogCaptureFixture
) -> None:
    model = learn(kind, vocab_size=100_000)

    assert 380 < len(model) < 1500
    [record] = caplog.records
    assert record.levelno == logging.WARNING
    assert str(len(model)) in record.getMessage()
    assert "100000" in record.getMessage()


def test_the_right_size_is_no_reason_to_warn(caplog: pytest.LogCaptureFixture) -> None:
    assert len(learn()) == 380
    assert len(learn("characters", vocab_size=8000)) < 400
    assert caplog.records == []


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_a_vocabulary_too_small_says_what_would_do(kind: Kind) -> None:
    with pytest.raises(ConfigError, match=r"vocab_size = 270: .* need (\d+)") as caught:
        learn(kind, vocab_size=270)
    needed = int(str(caught.value).rsplit(maxsplit=1)[1])

    assert "character_coverage" in caught.value.hint
    assert len(learn(kind, vocab_size=needed)) == needed
    with pytest.raises(ConfigError):
        learn(kind, vocab_size=needed - 1)


def test_of_too_many_characters_the_frequent_ones_are_kept() -> None:
    model = learn("characters", vocab_size=264)

    assert len(model) == 264
    assert {"e", "n"} < set(model.pieces(range(264)))


def test_coverage_leaves_out_rare_characters() -> None:
    assert "你" not in learn(character_coverage=0.98).pieces(range(380))
    assert "你" in MODELS["bpe"].pieces(range(380))


@pytest.mark.parametrize("kind", KINDS)
def test_no_text(kind: Kind) -> None:
    for lines in ([], ["", ""]):
        with pytest.raises(DataError, match="no text"):
            learn(kind, lines)


@pytest.mark.parametrize("line", ["e" * 20_000 + "ω", "ω▅", "ω\0", "ω\n\t"])
def test_no_line_is_skipped_in_silence(line: str) -> None:
    assert "ω" in learn(lines=[*SOURCES, line]).pieces(range(380))


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_printed(kind: Kind, capfd: pytest.CaptureFixture[str]) -> None:
    learn(kind, vocab_size=500)

    assert capfd.readouterr() == ("", "")


# Sampling

BATCH = SOURCES + TARGETS
MANY = BATCH * 100


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_sampling_depends_on_the_seed_alone(kind: Kind) -> None:
    model = MODELS[kind]
    once = model.sample(BATCH, amount=0.3, seed=7)
    many = model.sample(MANY, amount=0.3, seed=7)

    for _ in range(3):  # also when others have drawn in between
        model.sample(BATCH[:5], amount=0.3, seed=8)
        assert model.sample(BATCH, amount=0.3, seed=7) == once
        assert model.sample(MANY, amount=0.3, seed=7) == many
    assert model.sample(BATCH, amount=0.3, seed=8) != once
    assert Subwords(model.to_bytes()).sample(BATCH, amount=0.3, seed=7) == once


SAMPLE = """
import sys
from dragoman.text.tokenizers.subwords import Subwords
model = Subwords(sys.stdin.buffer.read())
print(model.sample(["The baker opens the shop.", "Der Bäcker Ω"] * 20, amount=0.3, seed=5))
"""


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_sampling_is_the_same_in_every_process(kind: Kind) -> None:
    """A resumed run sees the cuts that an uninterrupted one sees."""

    def sample() -> bytes:
        model = MODELS[kind].to_bytes()
        return subprocess.run(
            [sys.executable, "-c", SAMPLE], input=model, capture_output=True, check=True
        ).stdout

    assert sample() == sample() != b""


@pytest.mark.parametrize("seed", [0, 2**31, 2**32 - 2, 2**32 - 1, 2**32, 2**63, -1])
def test_any_whole_number_is_a_seed(seed: int) -> None:
    model = MODELS["bpe"]
    once = model.sample(BATCH, amount=0.3, seed=seed)

    assert model.sample(BATCH, amount=0.3, seed=12345) != once
    assert model.sample(BATCH, amount=0.3, seed=seed) == once


def test_sampling_is_the_same_from_many_threads_at_once() -> None:
    model = MODELS["bpe"]
    expected = [model.sample(BATCH, amount=0.3, seed=seed) for seed in range(8)]
    found: dict[int, list[list[int]]] = {}

    def draw(seed: int) -> None:
        for _ in range(5):
            found[seed] = model.sample(BATCH, amount=0.3, seed=seed)

    threads = [threading.Thread(target=draw, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [found[seed] for seed in range(8)] == expected


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_samples_are_other_cuts_of_the_same_text(kind: Kind) -> None:
    model = MODELS[kind]
    samples = model.sample(BATCH, amount=0.3, seed=1)

    assert [model.decode(ids) for ids in samples] == BATCH
    assert samples != model.encode(BATCH)
    assert all(3 not in ids for ids in samples)


@pytest.mark.parametrize("byte_fallback", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_unknown_is_sampled_as_it_is_encoded(kind: Kind, byte_fallback: bool) -> None:
    model = learn(kind, byte_fallback=byte_fallback, vocab_size=400 if byte_fallback else 150)
    amount = 1e-12 if kind != "unigram" else 1000.0  # next to no randomness

    for line in [*DELICATE, "ΩΩ Ω", "The ΩΩbaker"]:
        assert model.sample([line], amount=amount, seed=1) == model.encode([line])


def test_no_amount_is_plain_encoding() -> None:
    for model in MODELS.values():
        assert model.sample(BATCH, amount=0.0, seed=1) == model.encode(BATCH)


def test_bpe_dropout_drops_as_many_merges_as_asked() -> None:
    model = MODELS["bpe"]
    lengths = [sum(map(len, model.sample(BATCH, amount=rate, seed=1))) for rate in (0.01, 0.1, 0.5, 1.0)]

    assert lengths == sorted(lengths)
    assert lengths[0] < sum(map(len, model.encode(BATCH))) * 1.05
    assert lengths[-1] == sum(len(line) + 1 for line in BATCH)  # characters, and the space before the first


def test_pieces_across_spaces_are_sampled_too() -> None:
    """Models that others have trained may have them."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["New York is in New York"] * 20),
        model_writer=model,
        model_type="bpe",
        vocab_size=40,
        hard_vocab_limit=False,
        split_by_whitespace=False,
        normalization_rule_name="identity",
        minloglevel=2,
    )
    words = Subwords(model.getvalue())
    [plain] = words.encode(["New York"])

    assert "▁New▁York" in words.pieces(plain)
    assert words.sample(["New York"], amount=1e-12, seed=1) == [plain]


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_cuts_are_as_frequent_as_sentencepieces(kind: Kind) -> None:
    """SentencePiece draws the same distribution, with other numbers in each process."""
    model, draws = MODELS[kind], 20_000
    line, amount = "openers", 0.3
    processor = sentencepiece.SentencePieceProcessor(model_proto=model.to_bytes())
    theirs = Counter(
        tuple(processor.encode(line, enable_sampling=True, alpha=amount, nbest_size=-1)) for _ in range(draws)
    )
    ours = Counter(map(tuple, model.sample([line] * draws, amount=amount, seed=1)))

    assert len(theirs) > 5
    for cut in theirs | ours:
        spread = math.sqrt(theirs[cut] + ours[cut])  # standard deviation of the difference of two counts
        assert abs(theirs[cut] - ours[cut]) < 6 * spread + 3, model.pieces(cut)


# Damage


def test_bytes_that_are_no_model() -> None:
    whole = MODELS["bpe"].to_bytes()

    for data in (b"", b"junk" * 20, bytes(500), whole[:-1], whole[: len(whole) // 2]):
        with pytest.raises(ValueError, match="not a SentencePiece model"):
            Subwords(data)
