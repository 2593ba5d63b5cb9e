"""The traces of a page against the modules of PyTorch in float64, and against `inspect`."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest
import torch
from tests.inspection.models import bundle
from tests.inspection.models import transformer as small
from tests.translation.native.models import POSITIONS, VOCAB, native, random_model, shape
from tests.translation.native.page import Array, Change, trace

from dragoman.inspection import inspect
from dragoman.inspection.intervening import intervened
from dragoman.inspection.intervention import Intervention
from dragoman.inspection.weights import recording
from dragoman.models import transformer
from dragoman.models.layers.positions import SinusoidalPositions, sinusoidal
from dragoman.models.layers.window import FullView
from dragoman.models.transformer import CrossAttention, MultiHead, Residual, SelfAttention, attention_logits
from dragoman.translation.native import build
from dragoman.translation.native.native import NativeEngine

pytestmark = pytest.mark.skipif(bool(build.unavailable()), reason=str(build.unavailable()))

SOURCE, TARGET = [5, 17, 40, 9, 9, 33, 21], [8, 30, 12, 44, 7]

SHAPES: dict[str, Any] = {
    **{f"positions {kind}": shape(positions=kind) for kind in POSITIONS},
    **{
        f"pre-norm, {kind}": shape(positions=kind, norm="pre", window=3)
        for kind in ("relative", "t5", "rotary")
    },
    "window": shape(window=4),
    "norm of embeddings": shape(embedding_norm=True, positions="learned-apart"),
    "RMSNorm, shared heads": shape(norm="pre", norm_kind="rms", activation="swiglu", kv_heads=2),
    "shared heads, rotary": shape(kv_heads=1, positions="rotary"),
    "shared heads, relative": shape(kv_heads=2, positions="relative"),
    "biases": shape(attention_bias=True, output_bias=True, activation="gelu", tie="none"),
    "Marian": shape(positions="sinusoidal-t2t", norm="pre", final_norm=False, activation="swish"),
    "uneven": shape(embedding_scale=False, activation="quick-gelu", tie="decoder", d_model=36, d_ff=20),
    "SSRU": shape(ssru=True),
    "SSRU, pre-norm": shape(ssru=True, norm="pre", encoder_layers=1, decoder_layers=3, positions="t5"),
}  # fmt: skip


def expected(model: Any) -> dict[str, Array]:
    """The arrays of a trace from the outputs and the inputs of the modules, in the dtype of the model."""
    arrays: dict[str, torch.Tensor] = {}
    sides: list[str] = []

    def apart(x: torch.Tensor, heads: int) -> torch.Tensor:
        return x.view(x.shape[0], heads, -1).transpose(0, 1)

    def output(name: str) -> Callable[..., None]:
        def hook(module: Any, arguments: Any, out: Any) -> None:
            arrays[name] = out[0]
            if isinstance(module, SelfAttention):
                x, view = arguments
                q, k, v = module.queries_keys_values(x)
                q, k = module.positions.turn(q), module.positions.turn(k)
                distance = FullView(x.new_zeros(1), x.shape[1]).distance_TS()
                logits = attention_logits(q, k, module.positions.added(None, q, lambda: distance))
                hidden = view.matrix((view.bias == 0).to(x.dtype)).broadcast_to(logits.shape) == 0
                logits = logits.masked_fill(hidden, 0)
            elif isinstance(module, CrossAttention):
                q, (k, v) = module.queries(arguments[0]), arguments[1:3]
                logits = attention_logits(q, k)
            else:
                return
            kept = {"queries": q, "keys": k, "values": v, "logits": logits}
            arrays.update({f"{name}.{part}": value[0] for part, value in kept.items()})

        return hook

    def into(name: str, heads: int | None) -> Callable[..., None]:
        def hook(module: Any, arguments: Any, out: Any) -> None:
            x = arguments[0][0]
            arrays[name] = x if heads is None else apart(x, heads)

        return hook

    def positions(module: Any, arguments: Any, out: Any) -> None:
        side = "target" if "source" in sides else "source"
        sides.append(side)
        arrays[f"{side}.embedding"], arrays[f"{side}.input"] = arguments[0][0], out[0]

    def hooks() -> Iterable[Any]:
        for place in {model.positions, model.target_positions}:
            yield place.register_forward_hook(positions)
        for name, module in model.named_modules():
            yield module.register_forward_hook(output(name))
            if name.endswith("attention.output"):
                path = name.removesuffix(".output")
                yield module.register_forward_hook(into(f"{path}.heads", model.config.heads))
            if name.endswith("feed_forward.outer"):
                yield module.register_forward_hook(into(f"{name.removesuffix('.outer')}.hidden", None))

    handles = list(hooks())
    config = model.config
    with torch.no_grad(), recording(model) as weights:
        source = torch.tensor([[*SOURCE, config.end_id]])
        model.decode(
            torch.tensor([[config.start_id, *TARGET]]), model.encode(source, torch.tensor([len(source[0])]))
        )
    for handle in handles:
        handle.remove()
    for kind, recorded in weights.items():
        path = "decoder.{}.cross_attention" if kind == "cross" else kind + ".{}.attention"
        arrays |= {f"{path.format(number)}.weights": one for number, one in enumerate(recorded)}
    return {name: value.detach().numpy() for name, value in arrays.items()}


# Relative to the largest number of an array. Some models with large random weights amplify rounding: those of
# PyTorch in float32 differ from float64 by 2e-5 there.
NEAR, NOISY = 1e-5, 5e-5


def check(
    ours: dict[str, Array], theirs: dict[str, Array], *, allowed: float = NEAR, but: Iterable[str] = ()
) -> None:
    assert len(ours) > 40
    for name, array in ours.items():
        if name.endswith((*but, ".states", ".terms")):
            continue
        wanted = theirs[name]
        assert array.shape == wanted.shape, name
        error = np.abs(array - wanted).max()
        assert error <= allowed * max(np.abs(wanted).max(), 1e-3), (name, error, np.abs(wanted).max())


def double(model: Any) -> Any:
    return copy.deepcopy(model).double()


@pytest.mark.parametrize("name", SHAPES)
def test_every_array_is_that_of_the_modules(name: str) -> None:
    model = random_model(SHAPES[name])
    ours = trace(native(model), SOURCE, TARGET)
    check(ours, expected(double(model)), allowed=NOISY if name == "shared heads, rotary" else NEAR)
    kinds = {name.rpartition(".")[2] for name in ours}
    assert {"queries", "keys", "values", "logits", "weights", "heads", "hidden", "norm"} <= kinds


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_states_of_an_ssru(norm: str) -> None:
    ours = trace(native(random_model(shape(ssru=True, norm=norm))), SOURCE, TARGET)
    for path in ("decoder.0.attention", "decoder.1.attention"):
        state, states = 0.0, []
        forget = 1 / (1 + np.exp(-ours[f"{path}.forget"].astype(np.float64)))
        for f, candidate in zip(forget, ours[f"{path}.candidate"], strict=True):
            state = f * state + (1 - f) * candidate
            states.append(state)
        np.testing.assert_allclose(ours[f"{path}.states"], states, rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(np.maximum(ours[f"{path}.states"], 0), ours[path])


@pytest.mark.parametrize("dtype", ["int8", "bfloat16"])
def test_smaller_types_are_near(dtype: str) -> None:
    model = random_model(shape())
    ours, theirs = trace(native(model, dtype), SOURCE, TARGET), expected(model)
    difference = ours["logits"] - theirs["logits"]
    assert 0 < np.abs(difference).max() < 0.1 * np.abs(theirs["logits"]).max()


@pytest.mark.parametrize(
    "options",
    [
        {}, {"norm": "pre"}, {"positions": "relative", "norm": "pre"}, {"positions": "rotary"},
        {"positions": "index"},
        {"positions": "t5", "attention_bias": True}, {"positions": "none", "kv_heads": 1, "norm_kind": "rms"},
        {"norm": "pre", "norm_kind": "rms", "window": 5},
    ],
    ids=str,
)  # fmt: skip
def test_inspect_shows_the_same(options: Any) -> None:
    pair = bundle(small(**options))
    theirs = inspect(pair, "The old woman sees 12 dogs.", max_extra_tokens=4)
    source = [token.id for token in theirs.source.tokens][:-1]
    target = [token.id for token in theirs.target.tokens][:-1]
    ours = trace(native(pair.model), source, target)
    for one in theirs.attention:
        for layer, weights in enumerate(one.weights):
            path = (
                f"decoder.{layer}.cross_attention" if one.kind == "cross" else f"{one.kind}.{layer}.attention"
            )
            np.testing.assert_allclose(ours[f"{path}.weights"], weights, atol=2e-6)
    assert theirs.terms is not None
    for stack in theirs.terms.stacks:
        for layer, logits in enumerate(stack.logits):
            mine = ours[f"{stack.kind}.{layer}.attention.logits"]
            np.testing.assert_allclose(mine, logits, atol=2e-5 * np.abs(logits).max())
            terms = ours[f"{stack.kind}.{layer}.attention.terms"]
            np.testing.assert_allclose(terms, stack.values[layer], atol=5e-5 * np.abs(stack.values).max())
            np.testing.assert_allclose(terms.sum(0), mine, atol=5e-5 * np.abs(terms).max())
    logits = ours["logits"].astype(np.float64)
    logp = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    for row, step in zip(logp, theirs.steps, strict=True):
        assert row[step.token] == pytest.approx(step.logp, abs=1e-4)


# ---- interventions -------------------------------------------------------------------------------


@pytest.mark.parametrize("head", ["encoder.2.3", "decoder.1.4", "cross.2.1"])
@pytest.mark.parametrize("name", ["positions relative", "pre-norm, t5", "RMSNorm, shared heads", "biases"])
def test_a_head_switched_off(name: str, head: str) -> None:
    model = random_model(SHAPES[name])
    stack, layer, number = head.split(".")
    change = Change(what="without", stack=stack, layer=int(layer) - 1, head=int(number) - 1)
    ours = trace(native(model), SOURCE, TARGET, [change])
    path = (
        f"decoder.{int(layer) - 1}.cross_attention"
        if stack == "cross"
        else f"{stack}.{int(layer) - 1}.attention"
    )
    assert not ours[f"{path}.heads"][int(number) - 1].any()
    check(ours, expected(intervened(double(model), Intervention.of(without=[head]))))


def test_an_ssru_has_no_heads_to_switch_off() -> None:
    engine = native(random_model(shape(ssru=True)))
    for what in ("without", "unscaled", "no_mask", "weights"):
        with pytest.raises(ValueError, match="no heads|mask"):
            trace(engine, SOURCE, TARGET, [Change(what=what, stack="decoder", values=[1.0] * 6)])


@pytest.mark.parametrize("kind", POSITIONS)
def test_shifted_and_missing_positions_of_the_source(kind: Any) -> None:
    model = random_model(shape(positions=kind))
    engine = native(model)
    gone = Change(what="no_positions")
    if kind == "none":
        with pytest.raises(ValueError, match="no positions to change"):
            trace(engine, SOURCE, TARGET, [gone])
    else:
        theirs = intervened(double(model), Intervention(no_positions=True))
        check(trace(engine, SOURCE, TARGET, [gone]), expected(theirs), allowed=NOISY)
    shifted = Change(what="shift", place=300)
    if kind in ("none", "relative", "t5", "alibi", "rotary"):
        with pytest.raises(ValueError, match="cannot be shifted"):
            trace(engine, SOURCE, TARGET, [shifted])
    else:
        theirs = intervened(double(model), Intervention(shift=300))
        check(trace(engine, SOURCE, TARGET, [shifted]), expected(theirs))


@pytest.mark.parametrize("kind", ["sinusoidal", "sinusoidal-halves", "sinusoidal-t2t", "rotary"])
def test_another_base(kind: Any) -> None:
    model = random_model(shape(positions=kind))
    theirs = double(model)
    for module in theirs.modules():
        if isinstance(module, SinusoidalPositions):
            length, width = module.table_TE.shape
            module.table_TE = sinusoidal(length, width, module.layout, base=100.0).double()
    check(trace(native(model), SOURCE, TARGET, [Change(what="base", number=100)]), expected(theirs))


@pytest.mark.parametrize("kind", ["sinusoidal", "relative", "t5", "rotary"])
def test_logits_that_are_not_scaled(kind: Any) -> None:
    model = random_model(shape(positions=kind, attention_bias=True))
    theirs = double(model)
    width, root = 32, math.sqrt(8)
    with torch.no_grad():
        for module in theirs.modules():
            if isinstance(module, MultiHead):
                module.project.weight[:width] *= root
                module.project.bias[:width] *= root
    changes = [Change(what="unscaled", stack=stack) for stack in ("encoder", "decoder", "cross")]
    ours = trace(native(model), SOURCE, TARGET, changes)
    check(ours, expected(theirs), allowed=NOISY, but=[".queries"])
    for stack in ("encoder", "decoder"):
        path = f"{stack}.0.attention"
        terms = ours[f"{path}.terms"]
        np.testing.assert_allclose(terms.sum(0), ours[f"{path}.logits"], atol=NOISY * np.abs(terms).max())


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize(
    ("stack", "layer", "place", "name"),
    [("encoder", 1, 0, "attention"), ("decoder", 0, 1, "cross_attention"), ("decoder", 1, 2, "feed_forward")],
)
def test_a_sublayer_without_residual(norm: str, stack: str, layer: int, place: int, name: str) -> None:
    model = random_model(shape(norm=norm))
    theirs = double(model)
    residual: Residual = getattr(getattr(theirs, stack)[layer], f"{name}_residual")

    def forward(x: torch.Tensor, sublayer: Any) -> Any:
        return sublayer(residual.norm(x)) if residual.pre else residual.norm(sublayer(x))

    residual.forward = forward  # type: ignore[method-assign]
    change = Change(what="no_residual", stack=stack, layer=layer, place=place)
    check(trace(native(model), SOURCE, TARGET, [change]), expected(theirs))


@pytest.mark.parametrize("kind", ["sinusoidal", "relative", "t5", "alibi"])
def test_without_the_mask(kind: Any) -> None:
    model = random_model(shape(positions=kind))
    theirs = double(model)

    class Seeing:
        def both_ways(self, x: torch.Tensor, visible: torch.Tensor) -> FullView:
            return FullView(x.new_zeros(1), x.shape[1])

        def causal(self, x: torch.Tensor) -> FullView:
            return FullView(x.new_zeros(1), x.shape[1])

    theirs.span = Seeing()
    check(trace(native(model), SOURCE, TARGET, [Change(what="no_mask", stack="decoder")]), expected(theirs))
    model = random_model(shape(positions=kind, window=3))
    theirs = double(model)
    theirs.span = Seeing()
    both = [Change(what="no_mask", stack=stack) for stack in ("encoder", "decoder")]
    check(trace(native(model), SOURCE, TARGET, both), expected(theirs))


@pytest.mark.parametrize("side", ["encoder", "decoder"])
def test_another_embedding(side: str) -> None:
    model = random_model(shape())
    theirs, values = double(model), np.random.default_rng(1).standard_normal(32).astype(np.float32)
    calls = []

    def replace(module: Any, arguments: Any) -> Any:
        calls.append(module)
        x = arguments[0].clone()
        if len(calls) == (1 if side == "encoder" else 2):
            x[0, 2] = torch.from_numpy(values)
        return (x, *arguments[1:])

    theirs.positions.register_forward_pre_hook(replace)
    change = Change(what="embedding", stack=side, place=2, values=values.tolist())
    ours = trace(native(model), SOURCE, TARGET, [change])
    np.testing.assert_array_equal(
        ours["source.embedding" if side == "encoder" else "target.embedding"][2], values
    )
    check(ours, expected(theirs))


def test_other_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    model = random_model(shape())
    theirs, ours_of = double(model), native(model)
    wanted = np.zeros(len(SOURCE) + 1, np.float32)
    wanted[3] = 1
    calls = []

    def attend(q: Any, k: Any, v: Any, bias: Any = None, drop: float = 0.0) -> Any:
        calls.append(q)
        weights = attention_logits(q, k, bias).softmax(-1)
        if len(calls) == 6:  # two layers of the encoder, then self- and cross-attention of the decoder
            weights[0, 2, 1] = torch.from_numpy(wanted)
        return weights @ v

    monkeypatch.setattr(transformer, "attend", attend)
    change = Change(what="weights", stack="cross", layer=1, head=2, place=1, values=wanted.tolist())
    ours = trace(ours_of, SOURCE, TARGET, [change])
    np.testing.assert_array_equal(ours["decoder.1.cross_attention.weights"][2, 1], wanted)
    check(ours, expected(theirs), but=["decoder.1.cross_attention.weights"])


def test_interventions_together() -> None:
    model = random_model(shape())
    theirs = intervened(double(model), Intervention.of(without=["encoder.1.1", "cross.2.4"], shift=5))
    changes = [
        Change(what="without", stack="encoder", layer=0, head=0), Change(what="shift", place=5),
        Change(what="without", stack="cross", layer=1, head=3),
    ]  # fmt: skip
    check(trace(native(model), SOURCE, TARGET, changes), expected(theirs))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (Change(what="without", stack="encoder", layer=2, head=0), "layer 2 of 2"),
        (Change(what="without", stack="cross", layer=0, head=4), "head 4 of 4"),
        (Change(what="without", layer=-2), "layer -2 of 2"),
        (Change(what="shift", place=513), "from 0 to 512"),
        (Change(what="shift", stack="cross", place=3), "from 0 to 512"),
        (Change(what="shift", layer=0, place=3), "no layer"),
        (Change(what="base", number=1), "above 1"),
        (Change(what="base", number=math.nan), "above 1"),
        (Change(what="no_residual", stack="encoder", place=1), "sub-layer"),
        (Change(what="no_residual", stack="cross"), "sub-layer"),
        (Change(what="no_mask", stack="cross"), "mask"),
        (Change(what="embedding", place=8, values=[0.0] * 32), "token"),
        (Change(what="embedding", place=1, values=[0.0] * 31), "width"),
        (Change(what="weights", stack="cross", place=6, values=[0.0] * 8), "token"),
        (Change(what="weights", stack="cross", place=1, values=[0.0] * 7), "number of tokens"),
    ],
)
def test_what_cannot_be_changed_is_refused(change: Change, message: str) -> None:
    with pytest.raises(ValueError, match=rf"intervention 2: .*{message}"):
        trace(native(random_model(shape())), SOURCE, TARGET, [Change(what="unscaled"), change])


def test_tokens_that_do_not_exist_are_refused() -> None:
    engine: NativeEngine = native(random_model(shape()))
    for source, target, message in (
        ([VOCAB], [], "source token"), ([-1], [], "source token"), ([], [VOCAB], "target token"),
        ([5] * 513, [], "512"), ([], [5] * 513, "512"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            trace(engine, source, target)
    assert trace(engine, [], [])["logits"].shape == (1, VOCAB)
