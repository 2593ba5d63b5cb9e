from __future__ import annotations

import math
import subprocess
import sys
from array import array
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast, get_type_hints

import pytest
import torch

import dragoman
from dragoman import Translation, Translator
from dragoman.base.errors import ConfigError, DataError, ModelError
from dragoman.base.options import entries
from dragoman.decoding.engine import Engine, Hypothesis, Request
from dragoman.decoding.options import AttentionOf, Beam, Decoding, DecodingOptions, Sample
from dragoman.decoding.pytorch import PyTorchEngine
from dragoman.folder.bundle import Bundle, save
from dragoman.models.shapes import TransformerConfig
from dragoman.models.transformer import Transformer
from dragoman.text.shortlist import Shortlist
from dragoman.text.tokenizer import Tokenizer, TokenizerConfig
from tests.decoding.reference import History

LETTERS = "abcdefghij"
LINES = ["abc", "", "j", "hgf abcd abcd", "   ", "cab", "\u200b", "abcabcabcabc", "b"]
BLANK = {1, 4, 6}  # the last of them has no token that Letters knows


class Letters:
    """A tokenizer of letters: everything else has no token, but for "?" which is unknown."""

    pad_id, start_id, end_id, unk_id = 0, 1, 2, 3
    source_size = target_size = 4 + len(LETTERS)

    languages = ()
    placeholders = ()

    def encode_source(self, lines: Sequence[str]) -> list[list[int]]:
        return [[4 + LETTERS.index(c) for c in line if c in LETTERS] for line in lines]

    def encode_target(self, lines: Sequence[str]) -> list[list[int]]:
        return [
            [3 if c == "?" else 4 + LETTERS.index(c) for c in line if c in LETTERS + "?"] for line in lines
        ]

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(self.target_pieces(ids))

    def target_pieces(self, ids: Sequence[int]) -> list[str]:
        return ["?" if i == 3 else LETTERS[i - 4] for i in ids]


class Reserving(Letters):
    """The same, with letters of which a translation has each exactly once if the source has it."""

    placeholders = (4, 5, 6), (11, 12, 13)  # a, b, c; h, i, j


def translator_of(model: Any, **generation: Any) -> Translator:
    return Translator(
        cast(Any, Letters()),
        PyTorchEngine(model),
        source_language="en",
        target_language="de",
        generation=Beam(**generation),
    )


@pytest.fixture
def model() -> History:
    return History(vocab=14, seed=2, end=0.5)


@pytest.fixture
def translator(model: History) -> Translator:
    return translator_of(model)


# Lines in, lines out


def test_lines_keep_their_order_and_number(translator: Translator) -> None:
    found = translator.translate(LINES)

    assert [one.source for one in found] == LINES
    assert found == [translator.translate([line])[0] for line in LINES]
    assert found == translator.translate(LINES, batch_tokens=1)
    assert found == translator.translate(iter(LINES))
    assert len({one.text for one in found}) > 4


def test_a_blank_line_is_empty_and_the_model_is_not_asked(translator: Translator, model: History) -> None:
    found = translator.translate(LINES, n_best=2)
    for i in BLANK:
        assert found[i] == Translation(LINES[i], "", 0.0, (), (), False)
    assert sum(sentences for sentences, _ in model.encoded) == len(LINES) - len(BLANK)
    model.encoded.clear()
    assert [one.text for one in translator.translate(["", "\t \u3000"])] == ["", ""]
    assert translator.translate([]) == []
    assert model.encoded == []


def test_a_translation_says_what_it_is_made_of(translator: Translator) -> None:
    for one in translator.translate(["abc", "hgf"]):
        assert "".join(one.tokens) == one.text
        assert len(one.token_logp) == len(one.tokens) + 1
        assert one.score == pytest.approx(math.fsum(one.token_logp) / ((6 + len(one.tokens)) / 6) ** 0.6)
        assert one.alternatives == ()
    assert translator("abc") == translator.translate(["abc"])[0].text


def test_the_sentences_of_a_line_are_translated_by_themselves(translator: Translator) -> None:
    lines = ["abc. Hgf!  a", "", "hgf"]
    found = translator.translate(lines, sentences=True)
    parts = translator.translate(["abc.", "Hgf!", "a", "hgf"])

    assert [one.source for one in found] == lines
    assert [one.text for one in found] == [
        f"{parts[0].text} {parts[1].text}  {parts[2].text}",
        "",
        parts[3].text,
    ]
    assert found[0].tokens == parts[0].tokens + parts[1].tokens + parts[2].tokens
    counts = [len(one.token_logp) for one in parts[:3]]
    weighted = sum(one.score * count for one, count in zip(parts, counts, strict=False))
    assert found[0].score == pytest.approx(weighted / sum(counts))
    assert found[2] == parts[3]


def test_a_prefix_of_a_line_is_that_of_its_first_sentence(translator: Translator) -> None:
    (one,) = translator.translate(["abc. hgf"], sentences=True, prefix="h")
    first, second = translator.translate(["abc.", "hgf"], prefix=["h", ""])
    assert one.text == f"{first.text} {second.text}"


def test_a_text_keeps_its_lines_and_spaces(translator: Translator) -> None:
    text = "abc. hgf\r\n\n  a\t\nb"
    one, two, three, four = (each.text for each in translator.translate(["abc.", "hgf", "a", "b"]))
    assert translator(text) == f"{one} {two}\r\n\n  {three}\t\n{four}"
    assert translator("") == ""


def test_a_string_is_not_taken_for_a_list_of_lines(translator: Translator) -> None:
    with pytest.raises(TypeError, match="list of lines"):
        translator.translate("abc")
    with pytest.raises(TypeError, match="list of lines"):
        translator.stream("abc")
    with pytest.raises(ConfigError, match="window = 2.5"):
        translator.stream(LINES, window=cast(Any, 2.5))


def test_a_stream_is_lazy_and_the_same(translator: Translator) -> None:
    taken = 0

    def lines() -> Iterator[str]:
        nonlocal taken
        for line in LINES:
            taken += 1
            yield line

    stream = translator.stream(lines(), window=2)
    first = next(stream)
    assert taken == 2
    assert [first, *stream] == translator.translate(LINES)


def test_equal_lines_are_translated_once(translator: Translator, model: History) -> None:
    """Also where the draw is random: it is a function of the sentence."""
    for options in ({}, {"n_best": 2}, {"sample": Sample(seed=3)}):
        apart = [translator.translate([line], **cast(Any, options))[0] for line in LINES]
        model.encoded.clear()

        assert list(translator.stream(LINES * 50, window=4, **cast(Any, options))) == apart * 50
        assert sum(sentences for sentences, _ in model.encoded) == len(LINES) - len(BLANK)


def test_equal_lines_with_other_prefixes_are_others(translator: Translator) -> None:
    found = translator.translate(["abc"] * 4, prefix=["a", "b", "a", ""])

    assert [one.text[:1] for one in found[:3]] == ["a", "b", "a"]
    assert found[0] == found[2]
    assert found[3] == translator.translate(["abc"])[0]


def test_lines_before_none_are_translated_before_the_next_is_read(translator: Translator) -> None:
    seen: list[Translation] = []

    def lines() -> Iterator[str | None]:
        yield from ("abc", "j")
        yield None
        assert [one.source for one in seen] == ["abc", "j"]
        yield from ("cab", None, None, "b")

    for one in translator.stream(lines(), prefix=["", "a", "", "c"]):
        seen.append(one)

    assert seen == translator.translate(["abc", "j", "cab", "b"], prefix=["", "a", "", "c"])


def test_the_lines_before_an_error_are_translated(translator: Translator) -> None:
    def lines() -> Iterator[str]:
        yield from LINES
        raise DataError("line 10")

    seen: list[Translation] = []
    with pytest.raises(DataError, match="line 10"):
        for one in translator.stream(lines()):
            seen.append(one)
    assert seen == translator.translate(LINES)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads /proc")
def test_memory_does_not_grow_with_the_stream() -> None:
    """200,000 different lines take no more memory than the first 50,000."""
    translator = Translator(
        cast(Any, Letters()), cast(Engine, AtOnce()), source_language="en", target_language="en"
    )
    lines = (f"abc {number:x}" * 5 for number in range(200_000))
    pages = {}
    for number, _ in enumerate(translator.stream(lines), 1):
        if number % 50_000 == 0:
            pages[number] = int(Path("/proc/self/statm").read_text().split()[1])

    assert pages[200_000] <= 1.05 * pages[50_000]


def test_a_line_break_that_the_model_spells_does_not_break_the_line(model: History) -> None:
    class Breaking(Letters):
        def decode(self, ids: Sequence[int]) -> str:
            return "one\ntwo\r\nthree"

    translator = translator_of(model)
    translator.tokenizer = cast(Any, Breaking())
    assert translator("abc") == "one two  three"


# Options


def test_the_folder_says_how_to_search_unless_told_otherwise(model: History) -> None:
    own = translator_of(model, size=7, length_penalty=2.0, normalization="power")
    spelled = translator_of(model).translate(LINES, beam=7, length_penalty=2.0, normalization="power")

    assert own.translate(LINES) == spelled
    assert own.translate(LINES) != own.translate(LINES, beam=1)
    assert own.translate(LINES, beam=4, length_penalty=0.6, normalization="gnmt") == translator_of(
        model
    ).translate(LINES)


def test_the_best_come_first_and_widen_the_beam_of_the_folder(translator: Translator) -> None:
    (one,) = translator.translate(["abcde"], n_best=6)
    scores = [one.score, *(other.score for other in one.alternatives)]

    assert len(one.alternatives) == 5
    assert scores == sorted(scores, reverse=True)
    assert len({one.text, *(other.text for other in one.alternatives)}) == 6
    with pytest.raises(ConfigError, match="n_best = 6 with a beam of 4"):
        translator.translate(["abcde"], n_best=6, beam=4)


def test_samples_are_seeded_and_know_no_neighbours(translator: Translator) -> None:
    found = translator.translate(LINES, sample=Sample(seed=3), n_best=2)

    assert found == translator.translate(LINES, sample=Sample(seed=3, n_best=2), batch_tokens=1)
    assert found[3] == translator.translate([LINES[3]], sample=Sample(seed=3), n_best=2)[0]
    assert found != translator.translate(LINES, sample=Sample(seed=4), n_best=2)
    with pytest.raises(ConfigError, match="sampling"):
        translator.translate(LINES, sample=Sample(), beam=4)


def test_prefixes_begin_the_text(translator: Translator) -> None:
    for one in translator.translate(LINES, prefix="dad"):
        assert one.text.startswith("dad") or not one.source.strip(" \u200b")
    prefixes = ["a", "b", "", "gg", "c", "", "d", "fff", "e"]
    for i, one in enumerate(translator.translate(LINES, prefix=prefixes, batch_tokens=50)):
        assert one.text.startswith("" if i in BLANK else prefixes[i])
    assert list(translator.stream(LINES, prefix=iter(prefixes), window=2)) == translator.translate(
        LINES, prefix=prefixes
    )
    assert translator.translate(LINES, prefix="") == translator.translate(LINES)


def test_prefixes_that_cannot_be_used_are_refused(translator: Translator) -> None:
    with pytest.raises(DataError, match="line 3 has no prefix"):
        translator.translate(["a", "b", "c"], prefix=["a", "b"])
    with pytest.raises(DataError, match="more prefixes than the 1"):
        translator.translate(["a"], prefix=["a", "b"])
    with pytest.raises(DataError, match="cannot spell") as caught:
        translator.translate(["a"], prefix="a?")
    assert caught.value.hint


def test_length_and_repetition_are_ruled(translator: Translator) -> None:
    assert min(len(one.tokens) for one in translator.translate(["a", "bc"], minimum_length=9)) >= 9
    free = translator.translate(["abcde"], minimum_length=40)[0].text
    assert len(set(free)) < len(free)
    assert len(set(text := translator.translate(["abcde"], no_repeat_ngram=1)[0].text)) == len(text)
    with_prefix = translator.translate(["abcde"], no_repeat_ngram=1, prefix="aa")[0].text
    assert with_prefix.startswith("aa")
    assert len(set(with_prefix)) == len(with_prefix) - 1


def test_cuts_are_flagged(model: History) -> None:
    endless = translator_of(History(vocab=14, seed=2, end=-40.0))
    (one,) = endless.translate(["abc"], max_extra_tokens=4)
    assert len(one.tokens) == 7
    assert one.truncated

    whole, cut = translator_of(model).translate(["abcde", "abcdeffff"], max_source_tokens=5)
    assert (whole.text, whole.truncated) == (cut.text, False)
    assert cut.truncated
    assert cut.source == "abcdeffff"


@pytest.mark.parametrize(
    "option",
    [
        {"minimum_length": -1},
        {"no_repeat_ngram": -1},
        {"max_extra_tokens": -1},
        {"max_source_tokens": 0},
        {"batch_tokens": 0},
        {"beam": 0},
        {"n_best": 0},
        {"length_penalty": math.nan},
        {"normalization": "none"},
        {"stop": "soon"},
        {"attention": "0"},
        {"sample": Sample(), "stop": "exact"},
        {"sentences": True, "n_best": 2},
        {"sentences": True, "attention": "1"},
        {"sentences": True, "alignment": True},
    ],
    ids=str,
)
def test_senseless_options_are_refused_at_once(translator: Translator, option: dict[str, Any]) -> None:
    with pytest.raises(ConfigError) as caught:
        translator.stream(LINES, **option)
    assert caught.value.hint
    with pytest.raises(ConfigError):
        translator.translate([], **option)


def test_the_stop_is_the_models_unless_chosen() -> None:
    class Recording(Echo):
        def __init__(self) -> None:
            self.asked: list[Beam | Sample] = []

        def search(
            self, requests: Iterable[Request], **options: int
        ) -> Iterator[tuple[int, list[Hypothesis]]]:
            requests = list(requests)
            self.asked += [request.how for request in requests]
            return super().search(requests)

    engine = Recording()
    generation = Beam(stop="patient")
    translator = Translator(
        cast(Any, Letters()), engine, source_language="en", target_language="de", generation=generation
    )
    translator.translate(["abc"])
    translator.translate(["abc"], stop="exact")
    assert engine.asked == [generation, Beam(stop="exact")]


def test_a_shortlist_limits_each_sentence(model: History) -> None:
    candidates = array("i", [-1] * 2 * 14)
    candidates[2 * (4 + LETTERS.index("a"))] = 4 + LETTERS.index("b")
    shortlist = Shortlist([4 + LETTERS.index("c")], memoryview(candidates), 2, target_vocab=14)
    translator = translator_of(model)
    translator.shortlist = shortlist
    free, limited = translator.translate(LINES), translator.translate(LINES, shortlist=True)

    for one in limited:
        assert set(one.text) <= ({"b", "c"} if "a" in one.source else {"c"})
    assert [one.text for one in limited] != [one.text for one in free]
    assert any("b" in one.text for one in limited)


def test_a_shortlist_that_the_model_lacks_is_refused_at_once(translator: Translator) -> None:
    with pytest.raises(ConfigError, match="no shortlist") as caught:
        translator.stream(LINES, shortlist=True)
    assert "dragoman model shortlist" in str(caught.value.hint)


def test_options_come_as_an_object_as_keywords_or_both(translator: Translator) -> None:
    keywords = translator.translate(LINES, beam=2, n_best=2, no_repeat_ngram=1)

    assert translator.translate(LINES, Decoding(beam=2, n_best=2, no_repeat_ngram=1)) == keywords
    assert translator.translate(LINES, Decoding(beam=7, n_best=2), beam=2, no_repeat_ngram=1) == keywords
    assert list(translator.stream(LINES, Decoding(beam=2, n_best=2), no_repeat_ngram=1)) == keywords
    with pytest.raises(TypeError, match="unknown decoding options: bean"):
        translator.translate(LINES, bean=2)  # type: ignore[call-arg]


def test_the_keywords_are_the_fields_of_decoding() -> None:
    fields = {entry.name: entry.kind for entry in entries(Decoding).values()}
    assert get_type_hints(DecodingOptions) == fields


# Another engine


class Echo:
    """An engine without a model: it answers a source with itself, the last request first."""

    def search(
        self, requests: Iterable[Request], *, batch_tokens: int = 4096, lookahead: int = 4096
    ) -> Iterator[tuple[int, list[Hypothesis]]]:
        for number, request in reversed(list(enumerate(requests))):
            tokens = tuple(request.source)
            yield number, [Hypothesis(tokens, 0.0, 0.0, (0.0,) * (len(tokens) + 1), False)]

    def score(
        self,
        pairs: Iterable[tuple[Sequence[int], Sequence[int]]],
        how: Beam,
        *,
        attention: AttentionOf | None = None,
        batch_tokens: int = 2048,
    ) -> Iterator[tuple[int, Hypothesis]]:
        raise NotImplementedError


class AtOnce(Echo):
    """An engine that answers each request as soon as it has read it."""

    def search(
        self, requests: Iterable[Request], *, batch_tokens: int = 4096, lookahead: int = 4096
    ) -> Iterator[tuple[int, list[Hypothesis]]]:
        for number, request in enumerate(requests):
            tokens = tuple(request.source)
            yield number, [Hypothesis(tokens, 0.0, 0.0, (0.0,) * (len(tokens) + 1), False)]


def test_any_engine_will_do_and_answers_in_any_order() -> None:
    engine: Engine = Echo()
    translator = Translator(cast(Any, Letters()), engine, source_language="en", target_language="en")

    assert [one.text for one in translator.translate(["abc", "j", "cab"])] == ["abc", "j", "cab"]
    with pytest.raises(ConfigError, match="no PyTorch model"):
        translator.inspect("abc")


# Scoring


def test_scores_are_those_of_the_search(translator: Translator) -> None:
    found = translator.translate(LINES)
    scored = translator.score(LINES, [one.text for one in found])

    assert [one.text for one in scored] == [one.text for one in found]
    assert [one.tokens for one in scored] == [one.tokens for one in found]
    assert [one.score for one in scored] == pytest.approx([one.score for one in found], rel=1e-12)
    worse = translator.score(LINES, [one.text + "jjj" for one in found], length_penalty=0.0)
    assert all(other.score < sum(one.token_logp) for one, other in zip(found, worse, strict=True))


def test_only_a_pair_of_blank_lines_is_not_scored(translator: Translator) -> None:
    both, source, target = translator.score(["", "", "abc"], [" ", "abc", ""])

    assert both.token_logp == ()
    assert len(source.token_logp) == 4
    assert len(target.token_logp) == 1
    with pytest.raises(DataError, match="2 sources and 1 translations"):
        translator.score(["a", "b"], ["c"])


# The model


def transformer(**options: Any) -> Transformer:
    torch.manual_seed(1)
    shape = {"d_model": 16, "d_ff": 32, "heads": 2, "encoder_layers": 1, "decoder_layers": 1} | options
    return Transformer(TransformerConfig(source_vocab=14, target_vocab=14, **shape))


def test_a_model_in_training_is_tried_without_dropout_and_left_in_training() -> None:
    model = transformer(dropout=0.5).train()
    translator = translator_of(model)

    assert translator.translate(LINES) == translator.translate(LINES)
    assert translator.score(["abc"], ["abc"]) == translator.score(["abc"], ["abc"])
    assert all(module.training for module in model.modules())
    source_BS, target_BT = torch.tensor([[4, 5, 2]]), torch.tensor([[1, 6]])
    model(source_BS, torch.tensor([3]), target_BT).sum().backward()  # and its gradients still flow
    model.eval()
    translator.translate(LINES)
    assert not model.training


def test_a_model_with_broken_weights_is_an_error() -> None:
    model = transformer()
    torch.nn.init.constant_(model.logits.weight, math.nan)
    with pytest.raises(ModelError, match="no probabilities"):
        translator_of(model).translate(["abc"])


def test_a_very_long_line_is_translated_beside_short_ones() -> None:
    model = transformer(output_bias=True)
    torch.nn.init.constant_(model.logits.bias[2:3], 50.0)  # it ends when it may
    lines = ["abc", "abcdefghij" * 300, "j"]
    found = translator_of(model).translate(lines, minimum_length=3, batch_tokens=64)

    assert [len(one.tokens) for one in found] == [3, 3, 3]
    assert not any(one.truncated for one in found)


# A real tokenizer, a folder

PAIRS = [
    ("The cat sleeps on the warm stove.", "Die Katze schläft auf dem warmen Ofen."),
    ("A baker sells fresh bread.", "Ein Bäcker verkauft frisches Brot."),
    ("Two boats wait in the harbour.", "Zwei Boote warten im Hafen."),
    ("The baker waits for the cat.", "Der Bäcker wartet auf die Katze."),
]


def bundle_of(kind: str) -> Bundle:
    pairs = [(source + " " + more, target) for source, target in PAIRS for more, _ in PAIRS]
    tokenizer = Tokenizer.train(pairs, TokenizerConfig(kind=cast(Any, kind), vocab_size=360))
    torch.manual_seed(1)
    shape = TransformerConfig(
        source_vocab=tokenizer.source_size,
        target_vocab=tokenizer.target_size,
        d_model=16,
        d_ff=32,
        heads=2,
        encoder_layers=1,
        decoder_layers=1,
    )
    return Bundle(
        model=Transformer(shape).eval(), tokenizer=tokenizer, source_language="en", target_language="de"
    )


@pytest.mark.parametrize("kind", ["bpe", "unigram", "characters", "words"])
def test_a_prefix_begins_the_text_whatever_the_tokenizer(kind: str) -> None:
    translator = Translator.of(bundle_of(kind))
    for prefix in ("Die Katze", " Der Bäcker ", "Zwei"):
        for one in translator.translate([source for source, _ in PAIRS], prefix=prefix, n_best=3):
            for each in (one, *one.alternatives):
                assert each.text.startswith(prefix.strip())
    if kind == "words":
        with pytest.raises(DataError, match="cannot spell"):
            translator.translate(["The cat sleeps."], prefix="Hund")
    else:
        assert translator.translate(["The cat."], prefix="猫")[0].text.startswith("猫")


def test_spaces_around_a_line_change_nothing() -> None:
    translator = Translator.of(bundle_of("bpe"))
    (plain,), (spaced,) = translator.translate(["The cat."]), translator.translate(["  The cat. \t"])

    assert (spaced.text, spaced.score) == (plain.text, plain.score)
    assert spaced.source == "  The cat. \t"


def test_a_saved_model_translates_the_same(tmp_path: Path) -> None:
    bundle = bundle_of("bpe")
    save(bundle, tmp_path)
    loaded = Translator.load(str(tmp_path), device="cpu", engine="pytorch")
    lines = [source for source, _ in PAIRS]

    assert loaded.translate(lines, n_best=2) == Translator.of(bundle).translate(lines, n_best=2)
    assert (loaded.source_language, loaded.target_language) == ("en", "de")
    with pytest.raises(ModelError, match="no such model folder"):
        Translator.load(tmp_path / "elsewhere")


# The package


def test_the_public_names_are_sorted_and_exist() -> None:
    assert dragoman.__all__ == sorted(dragoman.__all__)
    for name in dragoman.__all__:
        assert getattr(dragoman, name) is not None
        assert name in dir(dragoman)
    with pytest.raises(AttributeError, match="no attribute 'translate'"):
        dragoman.translate  # type: ignore[attr-defined]  # noqa: B018


def test_importing_the_package_imports_no_torch() -> None:
    code = "import sys, dragoman; dir(dragoman); dragoman.Translator; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


# Placeholders


@pytest.mark.parametrize(
    "options",
    [{"beam": 1}, {"beam": 4, "n_best": 4}, {"sample": Sample(), "n_best": 3}, {"no_repeat_ngram": 1}],
    ids=str,
)
def test_each_placeholder_of_the_source_appears_once(model: History, options: Any) -> None:
    translator = Translator(
        cast(Any, Reserving()), PyTorchEngine(model), source_language="en", target_language="de"
    )
    lines = ["abc", "b", "defg", "ccc dad", ""]
    expected = ["hij", "i", "", "hj", ""]
    found = translator.translate(lines, max_extra_tokens=0, **options)
    for translation, placeholders in zip(found, expected, strict=True):
        for one in (translation, *translation.alternatives):
            assert "".join(sorted(letter for letter in one.text if letter in "hij")) == placeholders
    cut = translator.translate(["dabc"], max_source_tokens=2, **options)[0]
    assert sorted(letter for letter in cut.text if letter in "hij") == ["h"]
