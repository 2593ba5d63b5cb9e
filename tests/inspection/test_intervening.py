"""Interventions beside independent computations, in float64."""

from __future__ import annotations

import math
from copy import deepcopy
from typing import Any

import pytest
import torch
from tests.inspection.models import KINDS, bundle, transformer
from tests.models.test_contract import drawn, sources, targets
from tests.translation.bundles import several_bundle
from torch import Tensor, nn

from dragoman import Translator
from dragoman.base.errors import ConfigError, DataError
from dragoman.inspection import Head, Intervention, TokenAt, inspect
from dragoman.inspection.intervening import Choices, intervened, tokens_of_text, twin
from dragoman.models.lora import add_lora
from dragoman.translation.search.options import Beam
from dragoman.translation.search.rules import Banned

SENTENCE = "The old woman sees 12 dogs."
WITH_HEADS = [kind for kind in KINDS if kind.startswith(("transformer", "ssru"))]


def whole(model: Any, memory: Any = None) -> Tensor:
    """logits_BTV of some sentences."""
    with torch.no_grad():
        memory = model.encode(*sources(model.config)) if memory is None else memory
        logits_BTV: Tensor = model.decode(targets(model.config, len(memory.states_BSE), 9), memory)
        return logits_BTV


def by_steps(model: Any) -> Tensor:
    """The same, one step at a time."""
    with torch.no_grad():
        memory = model.encode(*sources(model.config))
        target_BT, logits = targets(model.config, len(memory.states_BSE), 9), []
        state = model.start(memory, 9)
        for t in range(9):
            logits_BV, state = model.step(target_BT[:, t], state)
            logits.append(logits_BV)
        return torch.stack(logits, 1)


def close(got: Tensor, wanted: Tensor) -> None:
    torch.testing.assert_close(got, wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", WITH_HEADS)
def test_a_head_that_is_off_equals_zeros_in_the_output_projection(kind: str) -> None:
    model: Any = drawn(KINDS[kind])
    config = model.config
    before = whole(model)
    last, among = config.decoder_layers, config.heads
    heads = [Head("encoder", 1, among), Head("cross", last, 1)]
    heads += [Head("decoder", last, among)] * (config.architecture == "transformer")
    for without in ([heads[0]], [heads[1]], heads):
        other = deepcopy(model)
        for one in without:
            layer = (other.encoder if one.kind == "encoder" else other.decoder)[one.layer - 1]
            module = layer.cross_attention if one.kind == "cross" else layer.attention
            width = config.d_model // config.heads
            with torch.no_grad():  # the weight has a row for each output and a column for each input
                module.output.weight[:, (one.head - 1) * width : one.head * width] = 0
        changed = intervened(model, Intervention(without=tuple(without)))
        close(whole(changed), whole(other))
        close(by_steps(changed), by_steps(other))
        assert (whole(changed) - before).abs().max() > 1e-6
    assert torch.equal(whole(model), before)


def numbers(kind: str, first: int, length_B: Tensor, width: int) -> Tensor:
    """The positions first, first + 1, ... of the sources, by the formulas."""
    position_S = torch.arange(first, first + int(length_B.max()), dtype=torch.float64)
    if kind == "index":
        return position_S.expand(len(length_B), -1)
    if kind == "fraction":
        return position_S.float() / length_B[:, None]  # the model divides in float32
    angle = position_S[:, None] / 10000.0 ** (torch.arange(0, width, 2, dtype=torch.float64) / width)
    return torch.stack((angle.sin(), angle.cos()), 2).flatten(1)  # section 3.5


class Instead(nn.Module):
    """Positions computed elsewhere."""

    def __init__(self, change: Any) -> None:
        super().__init__()
        self.change = change

    def forward(self, x_BTE: Tensor, start: int = 0, length_B: Tensor | None = None) -> Tensor:
        changed: Tensor = self.change(x_BTE)
        return changed


@pytest.mark.parametrize("kind", ["transformer", "transformer-learned-all", "transformer-index-all",
                                  "transformer-fraction-all", "convolutional", "convolutional-dilated",
                                  "convolutional-deep"])  # fmt: skip
@pytest.mark.parametrize("shift", [1, 7, None])
def test_source_positions_equal_those_of_a_changed_copy(kind: str, shift: int | None) -> None:
    model: Any = drawn(KINDS[kind])
    name = "source_positions" if model.config.architecture == "convolutional" else "positions"
    own = getattr(model, name)
    _, length_B = sources(model.config)

    def change(x_BTE: Tensor) -> Tensor:
        positions = model.config.positions
        if positions == "learned":
            rows = 0 if shift is None else own.table.weight[shift : shift + x_BTE.shape[1]]
            return x_BTE + rows
        if positions in ("index", "fraction"):
            last = torch.zeros(x_BTE.shape[:2]) if shift is None else numbers(positions, shift, length_B, 0)
            return torch.cat((x_BTE[..., :-1], last[..., None].to(x_BTE)), -1)
        if shift is None:
            return x_BTE
        # The model's table is float32.
        return x_BTE + numbers("sinusoidal", shift, length_B, x_BTE.shape[-1]).float().to(x_BTE)

    other = deepcopy(model)
    setattr(other, name, Instead(change))
    with torch.no_grad():
        memory = other.encode(*sources(model.config))
    wanted = whole(model, memory)  # the decoder keeps its own positions
    changed = intervened(model, Intervention(shift=shift) if shift else Intervention(no_positions=True))
    close(whole(changed), wanted)
    close(by_steps(changed), wanted)
    assert (wanted - whole(model)).abs().max() > 1e-6


@pytest.mark.parametrize(
    "kind", ["relative-all", "relative-5", "t5-all", "alibi-all", "rotary-all", "rotary-4"]
)
def test_distances_are_left_out(kind: str) -> None:
    model: Any = drawn(KINDS[f"transformer-{kind}"])
    other = deepcopy(model)
    with torch.no_grad():
        for layer in other.encoder:
            positions = layer.attention.positions
            for weight in positions.parameters():
                weight.zero_()
            if kind == "alibi-all":
                positions.slope_H.zero_()
            if kind.startswith("rotary"):
                positions.angles.table_TE[:, 0::2], positions.angles.table_TE[:, 1::2] = 0, 1
    changed = intervened(model, Intervention(no_positions=True))
    close(whole(changed), whole(other))
    assert (whole(other) - whole(model)).abs().max() > 1e-6
    with pytest.raises(ConfigError, match="cannot be shifted"):
        intervened(model, Intervention(shift=1))


def test_a_twin_shares_the_weights_and_nothing_else() -> None:
    model: Any = drawn(KINDS["transformer"])
    seen: list[object] = []
    model.encoder[0].attention.register_forward_hook(lambda *_: seen.append(1))
    other: Any = twin(model)
    assert torch.equal(whole(other), whole(other))
    assert seen == []
    pairs = list(zip(model.named_parameters(), other.named_parameters(), strict=True))
    assert all(name == again and one is same for (name, one), (again, same) in pairs)
    assert not {id(module) for module in model.modules()} & {id(module) for module in other.modules()}
    changed = intervened(model, Intervention(without=(Head("encoder", 1, 1),), shift=1))
    assert changed is not model
    assert not any(module._forward_pre_hooks for module in model.modules())
    assert intervened(model, Intervention(length_penalty=1.0)) is model


@pytest.mark.parametrize(
    ("kind", "change", "message"),
    [
        ("lstm-dot", {"without": ["cross.1.1"]}, "recurrent model has no cross heads"),
        ("convolutional", {"without": ["encoder.1.1"]}, "convolutional model has no encoder heads"),
        ("ssru", {"without": ["decoder.1.1"]}, "ssru model has no decoder heads"),
        ("transformer", {"without": ["encoder.3.1"]}, "no head encoder.3.1"),
        ("transformer", {"without": ["cross.1.4"]}, "no head cross.1.4"),
        ("gru", {"shift": 1}, "no positions"),
        ("gru", {"no_positions": True}, "no positions"),
        ("transformer-none-all", {"no_positions": True}, "no positions"),
    ],
)
def test_what_a_model_does_not_have(kind: str, change: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message) as error:
        intervened(drawn(KINDS[kind]), Intervention.of(**change))
    assert error.value.hint


def test_a_twin_has_the_adapter_of_the_model() -> None:
    model: Any = drawn(KINDS["transformer"])
    plain = whole(model)
    torch.manual_seed(1)
    for weight in add_lora(model, rank=2, alpha=2.0):
        nn.init.normal_(weight)
    model.eval()
    assert (whole(model) - plain).abs().max() > 1e-6
    assert torch.equal(whole(twin(model)), whole(model))


# Tokens


def greedy(pair: Any, most: int, forced: dict[int, int], banned: dict[int, set[int]]) -> list[int]:
    """The likeliest token at each step, from the whole pass, with steps counted from 0."""
    model, words = pair.model, pair.tokenizer
    (source,) = words.encode_source([SENTENCE])
    never, last = {words.pad_id, words.start_id}, max(forced, default=-1)
    with torch.no_grad():
        source_B = torch.tensor([[*source, words.end_id]])
        memory = model.encode(source_B, torch.tensor([len(source) + 1]))
        tokens: list[int] = []
        while len(tokens) < most:
            logits = model.decode(torch.tensor([[words.start_id, *tokens]]), memory)[0, -1]
            step = len(tokens)
            logits[[*never, *banned.get(step, ()), *banned.get(-1, ())]] = -math.inf
            if step < last:
                logits[words.end_id] = -math.inf
            token = forced.get(step, int(logits.argmax()))
            if token == words.end_id:
                break
            tokens.append(token)
    return tokens


def chosen(pair: Any, intervention: Intervention, most: int, **options: Any) -> list[int]:
    (source,) = pair.tokenizer.encode_source([SENTENCE])
    trace = inspect(pair, SENTENCE, max_extra_tokens=most - len(source), intervention=intervention, **options)
    return [token.id for token in trace.target.tokens[:-1]]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_tokens_equal_those_of_a_loop(seed: int) -> None:
    pair = bundle(transformer(), seed=seed, beam=1)
    most = len(pair.tokenizer.encode_source([SENTENCE])[0]) + 4
    free = greedy(pair, most, {}, {})
    assert chosen(pair, Intervention(), most) == free
    end = pair.tokenizer.end_id
    for forced, banned in (
        ({2: 33}, {}),
        ({0: 33, 1: 34, 4: 35}, {}),
        ({}, {1: {free[1]}}),
        ({}, {-1: {free[0]}, 3: {free[3]}}),
        ({1: 40}, {2: {free[1]}, -1: {free[2]}}),
        ({3: end}, {}),
    ):
        intervention = Intervention(
            force=tuple(TokenAt(token, step + 1) for step, token in forced.items()),
            ban=tuple(
                TokenAt(token, None if step < 0 else step + 1)
                for step, ids in banned.items()
                for token in ids
            ),
        )
        assert chosen(pair, intervention, most) == greedy(pair, most, forced, banned) != free


def test_a_forced_token_is_reached() -> None:
    """Beyond the usual limit, and although the model would end before."""
    pair = bundle(transformer(), seed=2)
    at = Intervention(force=(TokenAt(33, 60), TokenAt(pair.tokenizer.end_id, 61)))
    tokens = chosen(pair, at, 20)
    assert len(tokens) == 60
    assert tokens[-1] == 33


def test_forced_from_the_start_is_a_prefix_and_banned_everywhere_a_rule() -> None:
    pair = bundle(transformer(), seed=2, beam=4)
    tokens = tokens_of_text("Die alte Frau", pair.tokenizer)
    assert len(tokens) > 3
    one = chosen(pair, Intervention.of(force=["1=Die alte Frau"]), 30)
    assert one == chosen(pair, Intervention(), 30, prefix=tokens)
    free = chosen(pair, Intervention(), 30)
    two = chosen(pair, Intervention(ban=(TokenAt(free[0]),)), 30)
    assert two == chosen(pair, Intervention(), 30, rules=[Banned((free[0],))]) != free


@pytest.mark.parametrize(("step", "rows"), [(None, {0, 1}), (1, {0}), (2, set()), (3, {1})])
def test_a_sequence_is_banned(step: int | None, rows: set[int]) -> None:
    """Its tokens may appear, but not one after the other."""
    pair = bundle(transformer())
    *before, last = tokens_of_text("Die Frau", pair.tokenizer)
    change = Intervention(ban=(TokenAt("Die Frau", step),))
    mask = Choices(change, pair.tokenizer, Beam(), pair.model.config).over(None)
    assert mask is not None
    found = set()
    for row, prefix in enumerate((before, [33, 34, *before], [*before[:-1], 33], before[1:], [])):
        free_NV = torch.zeros(2, 340)
        prefix_NT = torch.tensor([[35] * len(prefix), prefix], dtype=torch.int64)
        banned = (mask(prefix_NT, free_NV, torch.zeros(2)) == -math.inf).nonzero().tolist()
        assert banned in ([], [[1, last]])
        found |= {row} if banned else set()
    assert len(before) > 1
    assert found == rows


def test_the_tree_shows_what_is_banned() -> None:
    pair = bundle(transformer(), seed=2)
    first = inspect(pair, SENTENCE, max_extra_tokens=2).target.tokens[0]
    trace = inspect(
        pair, SENTENCE, max_extra_tokens=2, intervention=Intervention(ban=(TokenAt(first.id, 1),))
    )
    assert trace.beam is not None
    assert [node.token for node in trace.beam.nodes if node.step == 0 and node.fate == "banned"] == [first.id]


def test_text_becomes_tokens() -> None:
    words = bundle(transformer()).tokenizer
    pieces = words.target_pieces(range(words.target_size))
    inner = next(i for i, piece in enumerate(pieces) if piece.startswith("▁") and len(piece) > 2)
    assert tokens_of_text(pieces[inner], words) == [inner]
    assert tokens_of_text("<0xE4>", words) == [pieces.index("<0xE4>")]
    assert tokens_of_text("</s>", words) == [words.end_id]
    assert words.decode(tokens_of_text(" Hund ", words)) == "Hund"
    assert words.decode(tokens_of_text("<b>", words)) == "<b>"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"force": (TokenAt(1, 1), TokenAt(33, 1))}, "never generated|twice"),
        ({"force": (TokenAt(34, 1), TokenAt(33, 1))}, "step 1 is forced twice"),
        ({"force": (TokenAt(9999, 1),)}, "vocabulary of 340"),
        ({"ban": (TokenAt(-1),)}, "vocabulary of 340"),
        ({"force": (TokenAt(0, 1),)}, "never generated"),
        ({"force": (TokenAt(33, 2),), "ban": (TokenAt(33),)}, "forced and banned"),
        ({"force": (TokenAt(33, 2),), "ban": (TokenAt(33, 2),)}, "forced and banned"),
        ({"force": (TokenAt(2, 2), TokenAt(33, 3))}, "after the end"),
        ({"force": (TokenAt("die alte Frau", 511),)}, "beyond step 512"),
    ],
)
def test_tokens_are_checked(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message) as error:
        inspect(bundle(transformer()), SENTENCE, intervention=Intervention(**change))
    assert error.value.hint


def test_prefix_and_force() -> None:
    translator = Translator.of(bundle(transformer()))
    with pytest.raises(ConfigError, match="within the prefix"):
        translator.inspect(SENTENCE, prefix="Die Frau", intervention=Intervention.of(force=["1=Der"]))
    with pytest.raises(ConfigError, match="given translation"):
        translator.inspect(SENTENCE, target="Die Frau", intervention=Intervention.of(ban=["Der"]))


@pytest.mark.parametrize("change", [{"force": ["1=Der"]}, {"ban": ["1=Der"]}])
def test_the_mark_of_a_language_stays(change: dict[str, Any]) -> None:
    translator = Translator.of(several_bundle(target_mark="target"))
    with pytest.raises(ConfigError, match=r"^step 1 is the mark of the language"):
        translator.inspect(SENTENCE, source="en", to="fr", intervention=Intervention.of(**change))


def test_a_prefix_may_have_what_is_banned() -> None:
    translator = Translator.of(bundle(transformer()))
    banned = Intervention.of(ban=["Die"])
    found = translator.inspect(SENTENCE, prefix="Die Frau", intervention=banned).changed
    assert found.translations
    for one in found.translations:
        assert one.text.startswith("Die Frau")
        assert one.text.count("Die") == 1


def test_a_word_that_cannot_be_spelt() -> None:
    class Unable:
        unk_id = 3

        def encode_target(self, lines: list[str]) -> list[list[int]]:
            return [[3]]

    with pytest.raises(DataError, match="cannot spell"):
        tokens_of_text("Hund", Unable())  # type: ignore[arg-type]
