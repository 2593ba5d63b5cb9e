from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from tests.inspection.models import KINDS, bundle, transformer
from tests.text.marian import marian
from torch import nn

from dragoman import Translator
from dragoman.base.errors import ConfigError, DataError
from dragoman.inspection import Trace, inspect
from dragoman.models.folder.bundle import Bundle
from dragoman.models.layers.positions import sinusoidal
from dragoman.models.seq2seq import build_model
from dragoman.models.transformer import CrossAttention, SelfAttention
from dragoman.text.tokenizers.tokenizer import Tokenizer, TokenizerConfig
from dragoman.translation.search.options import Beam
from dragoman.translation.search.rules import NoRepeatedNgram

SENTENCE = "The old woman sees 12 dogs."


@pytest.mark.parametrize("kind", KINDS)
def test_every_architecture_shows_what_it_has(kind: str) -> None:
    trace = inspect(bundle(KINDS[kind]), SENTENCE, max_extra_tokens=5)
    s, t = len(trace.source.tokens), len(trace.target.tokens)

    assert len(trace.inputs) == len(trace.steps) == t
    for one in trace.attention:
        queries = s if one.queries == "source" else t
        keys = s if one.keys == "source" else t
        assert one.weights.shape[2:] == (queries, keys)
        np.testing.assert_allclose(one.weights.sum(-1), 1, atol=1e-5)
        if one.causal:
            assert np.all(one.weights[..., np.triu_indices(t, 1)[0], np.triu_indices(t, 1)[1]] == 0)
    kinds = [one.kind for one in trace.attention]
    match trace.model.architecture:
        case "transformer":
            assert kinds == ["encoder", "decoder", "cross"]
        case "ssru":
            assert kinds == ["encoder", "cross"]
        case "convolutional":
            assert kinds == ["cross"]
        case _:
            assert kinds == ([] if trace.model.config["attention"] == "none" else ["cross"])
    assert (trace.alignment is None) == ("cross" not in kinds)
    stacks = () if trace.terms is None else tuple(stack.kind for stack in trace.terms.stacks)
    assert stacks == tuple(kind for kind in kinds if kind != "cross")
    assert (trace.terms is None) == (trace.model.architecture not in ("transformer", "ssru"))


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.startswith(("transformer", "ssru"))])
def test_weights_are_those_that_summed_the_values(kind: str) -> None:
    """What the heads' concatenation was given is weights times values, taken from another hook."""
    pair = bundle(KINDS[kind])
    model: Any = pair.model
    given: dict[nn.Module, tuple[Any, ...]] = {}
    merged: dict[nn.Module, torch.Tensor] = {}
    for module in model.modules():
        if isinstance(module, SelfAttention | CrossAttention):
            module.register_forward_hook(lambda m, args, _: given.update({m: args}))
            module.output.register_forward_hook(lambda _, args, __, m=module: merged.update({m: args[0]}))
    trace = inspect(pair, SENTENCE, max_extra_tokens=5)

    for one in trace.attention:
        layers = model.encoder if one.kind == "encoder" else model.decoder
        for weights_HQK, layer in zip(one.weights, layers, strict=True):
            module = layer.cross_attention if one.kind == "cross" else layer.attention
            weights_BHQK = torch.from_numpy(weights_HQK)[None]
            with torch.no_grad():
                v = given[module][2] if one.kind == "cross" else module.keys_values(given[module][0])[1]
                v = v.repeat_interleave(module.heads // v.shape[1], 1)  # heads may share values
                heads = weights_BHQK @ v
                if one.kind != "cross":
                    place = torch.arange(v.shape[2])
                    heads = heads + module.positions.values(weights_BHQK, place - place[:, None])
            torch.testing.assert_close(heads.transpose(1, 2).flatten(2), merged[module], atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"embedding_scale": False, "positions": "sinusoidal-t2t"},
        {"norm": "pre", "norm_epsilon": 0.7, "final_norm": False, "positions": "sinusoidal-halves"},
    ],
    ids=str,
)
def test_first_layer_equals_the_paper_in_float64(changes: dict[str, Any]) -> None:
    """Eq. 1 of embeddings * sqrt(d) + sinusoids, written out with numpy."""
    pair = bundle(transformer(**changes))
    model: Any = pair.model
    trace = inspect(pair, SENTENCE, max_extra_tokens=3)

    ids = [token.id for token in trace.source.tokens]
    width, heads = 16, 2
    x = model.source_embedding.weight.detach().double().numpy()[ids]
    x = x * (math.sqrt(width) if changes.get("embedding_scale", True) else 1)
    x = x + sinusoidal(len(ids), width, changes.get("positions", "sinusoidal")).double().numpy()
    if "norm" in changes:  # its gain is 1 and its bias 0 in a new model
        x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 0.7)
    w_q, w_k, _ = model.encoder[0].attention.project.weight.detach().double().numpy().reshape(3, width, width)
    for head in range(heads):
        rows = slice(head * width // heads, (head + 1) * width // heads)
        logits = (x @ w_q[rows].T) @ (x @ w_k[rows].T).T / math.sqrt(width // heads)
        expected = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
        found = trace.attention[0].weights[0, head]
        np.testing.assert_allclose(found, expected, atol=2e-6)


def test_steps_hold_what_scoring_says() -> None:
    pair = bundle(transformer(), seed=3)
    trace = inspect(pair, SENTENCE, max_extra_tokens=5)
    translator = Translator.of(pair)
    own = translator.translate([SENTENCE], max_extra_tokens=5)[0]

    assert trace.target.text == own.text == trace.translations[0].text
    assert trace.translations[0].score == pytest.approx(own.score, abs=1e-6)
    np.testing.assert_allclose([step.logp for step in trace.steps], own.token_logp, atol=2e-5)
    for step in trace.steps:
        assert step.probability == pytest.approx(math.exp(step.logp))
        chances = [one.probability for one in step.alternatives]
        assert len(chances) == 20
        assert chances == sorted(chances, reverse=True)
        assert 0 <= step.entropy <= math.log(340)
        assert step.entropy >= -sum(p * math.log(p) for p in chances) - 1e-6  # the rest adds to it
        better = [one for one in step.alternatives if one.probability > step.probability + 1e-6]
        assert (step.token in [one.token for one in step.alternatives]) == (len(better) < 20)


def test_tokens_stand_where_they_say() -> None:
    trace = inspect(bundle(transformer()), "  Zwölf Hunde 你好 🙂!  ", max_extra_tokens=3)
    side = trace.source

    assert side.text == "Zwölf Hunde 你好 🙂!"
    assert "".join(token.text for token in side.tokens[:-1]) == side.text.replace(" ", "")
    assert [word.text for word in side.words] == ["Zwölf", "Hunde", "你", "好", "🙂", "!"]
    for token in side.tokens[:-1]:
        assert token.word is not None
        assert side.words[token.word].start <= token.start <= token.end <= side.words[token.word].end
    assert (side.tokens[-1].piece, side.tokens[-1].word) == ("</s>", None)
    assert trace.inputs[0].piece == "<s>"
    assert trace.inputs[1:] == trace.target.tokens[:-1]


def test_alignment_is_attention_by_words() -> None:
    trace = inspect(bundle(transformer(decoder_layers=3)), SENTENCE, max_extra_tokens=5)
    cross = trace.attention_of("cross")
    assert cross is not None
    assert trace.alignment is not None
    weights = cross.weights[1].mean(0)  # the last layer but one
    for i, target in enumerate(trace.target.words):
        rows = [n for n, token in enumerate(trace.target.tokens) if token.word == i]
        for j, source in enumerate(trace.source.words):
            columns = [n for n, token in enumerate(trace.source.tokens) if token.word == j]
            expected = np.mean([sum(weights[row, column] for column in columns) for row in rows])
            assert trace.alignment[i, j] == pytest.approx(expected, abs=1e-6), (target, source)
    assert "layer 2 of 3" in trace.alignment_note


def test_a_given_translation_is_looked_at_instead() -> None:
    pair = bundle(transformer())
    trace = Translator.of(pair).inspect(SENTENCE, target="Die alte Frau sieht 12 Hunde.")
    scored = Translator.of(pair).score([SENTENCE], ["Die alte Frau sieht 12 Hunde."])[0]

    assert trace.target.text == "Die alte Frau sieht 12 Hunde."
    assert trace.beam is None
    assert trace.search == {}
    assert trace.translations[0].score == pytest.approx(scored.score, abs=1e-6)


def test_a_given_translation_that_is_banned_is_refused() -> None:
    pair = bundle(transformer())
    (*_, token) = pair.tokenizer.encode_target(["Hund"])[0]
    banning = replace(pair, generation=replace(pair.generation, banned=(token,), renormalize=True))

    with pytest.raises(DataError, match="banned"):
        inspect(banning, SENTENCE, target="Hund")
    assert inspect(banning, SENTENCE, target="12").target.text == "12"


def test_the_model_is_left_as_it_was() -> None:
    pair = bundle(transformer(dropout=0.5))
    model: Any = pair.model
    model.train()
    model.encoder.eval()
    modes = [module.training for module in model.modules()]
    first = inspect(pair, SENTENCE, max_extra_tokens=3)

    assert [module.training for module in model.modules()] == modes
    assert not any(module._forward_hooks for module in model.modules())
    assert inspect(pair, SENTENCE, max_extra_tokens=3).to_json() == first.to_json()  # no dropout meanwhile


@pytest.mark.parametrize("kind", KINDS)
def test_half_precision_is_no_hindrance(kind: str) -> None:
    trace = inspect(bundle(KINDS[kind], dtype=torch.bfloat16), SENTENCE, max_extra_tokens=2)
    for one in trace.attention:
        assert one.weights.dtype == np.float32
        np.testing.assert_allclose(one.weights.sum(-1), 1, atol=0.02)
    if trace.terms is not None:
        assert np.isfinite(trace.terms.stacks[0].values).all()
        assert not trace.terms.stacks[0].exact[0]


def test_a_long_prefix_is_whole() -> None:
    pair = bundle(transformer())
    prefix = "Die alte Frau sieht den Hund. " * 12
    own = Translator.of(pair).translate(["A."], prefix=prefix)[0]
    assert Translator.of(pair).inspect("A.", prefix=prefix).target.text == own.text


@pytest.mark.parametrize(
    "wrong", [{"minimum_length": -1}, {"no_repeat_ngram": -2}, {"beam": 51}, {"beam": 0}]
)
def test_options_are_checked(wrong: dict[str, int]) -> None:
    with pytest.raises(ConfigError):
        Translator.of(bundle(transformer())).inspect(SENTENCE, **wrong)  # type: ignore[arg-type]


def test_rules_hold_as_in_translation() -> None:
    pair = bundle(transformer(), seed=2)
    plain = inspect(pair, SENTENCE, max_extra_tokens=8)
    tokens = [token.id for token in plain.target.tokens]
    assert len(set(tokens)) < len(tokens)  # so that the rule has something to forbid
    ruled = inspect(pair, SENTENCE, max_extra_tokens=8, rules=[NoRepeatedNgram(1)])

    tokens = [token.id for token in ruled.target.tokens]
    assert len(set(tokens)) == len(tokens)
    assert ruled.beam is not None
    assert any(node.fate == "banned" for node in ruled.beam.nodes)
    assert Translator.of(pair).inspect(SENTENCE, prefix="Die Frau").target.text.startswith("Die Frau")


@pytest.mark.parametrize("text", ["", "   ", "\n"])
def test_nothing_to_look_at(text: str) -> None:
    with pytest.raises(DataError, match="empty"):
        inspect(bundle(transformer()), text)
    with pytest.raises(DataError, match="empty"):
        inspect(bundle(transformer()), SENTENCE, target=text)


def test_too_much_to_look_at() -> None:
    with pytest.raises(DataError, match="512"):
        inspect(bundle(transformer()), "dog " * 600)


def test_a_given_translation_has_no_search() -> None:
    with pytest.raises(ConfigError, match="given translation"):
        Translator.of(bundle(transformer())).inspect(SENTENCE, target="Hund", no_repeat_ngram=2)
    with pytest.raises(ConfigError, match="given translation"):
        Translator.of(bundle(transformer())).inspect(SENTENCE, target="Hund", beam=2)
    assert (
        Translator.of(bundle(transformer())).inspect(SENTENCE, target="Hund", prefix=" ").target.text
        == "Hund"
    )


def with_tokenizer(words: Tokenizer) -> Bundle:
    config = transformer(
        source_vocab=words.source_size,
        target_vocab=words.target_size,
        pad_id=words.pad_id,
        start_id=words.start_id,
        end_id=words.end_id,
    )
    torch.manual_seed(1)
    return Bundle(
        model=build_model(config).eval(),
        tokenizer=words,
        source_language="en",
        target_language="de",
        generation=Beam(size=3),
    )


def test_a_model_may_start_with_padding() -> None:
    words = marian()
    pair = with_tokenizer(words)
    trace = inspect(pair, SENTENCE, max_extra_tokens=5)

    assert (trace.inputs[0].id, trace.inputs[0].piece) == (words.pad_id, "<pad>")
    for side in (trace.source, trace.target):
        assert (side.tokens[-1].id, side.tokens[-1].piece) == (words.end_id, "</s>")
        assert all(token.id not in words.specials.ids for token in side.tokens[:-1])
    assert trace.target.text == Translator.of(pair).translate([SENTENCE], max_extra_tokens=5)[0].text


def test_punctuation_is_normalised_once() -> None:
    pytest.importorskip("sacremoses")
    line = "A dog (—sees— 1 %)."  # normalising twice removes the space behind the bracket
    config = TokenizerConfig(kind="mapped", punctuation="en")
    words = Tokenizer(config, *marian().vocabularies, specials=marian().specials)
    trace = inspect(with_tokenizer(words), line, max_extra_tokens=2)
    ids = [token.id for token in trace.source.tokens[:-1]]
    assert ids == words.encode_source([line])[0]
    assert trace.source.text == words.normalise([line], "source")[0]
    assert "".join(token.text for token in trace.source.tokens[:-1]) == trace.source.text.replace(" ", "")


def test_lower_case_is_what_the_model_saw() -> None:
    words = Tokenizer.train([("Ein Hund", "Ein Hund")], _lowercase())
    trace: Trace = inspect(with_tokenizer(words), "Ein HUND", max_extra_tokens=2)
    assert trace.source.text == "ein hund"
    assert [word.text for word in trace.source.words] == ["ein", "hund"]


def _lowercase() -> TokenizerConfig:
    return TokenizerConfig(kind="characters", vocab_size=300, lowercase=True)
