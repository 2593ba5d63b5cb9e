"""A trace as text, for a terminal or a pipe."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size

from dragoman.base.errors import ConfigError
from dragoman.inspection.arrays import Array
from dragoman.inspection.record import Kind, Record
from dragoman.text.clean import clean

_SHADES = " ·░▒▓█"
_BAR = 20
_TITLES: dict[Kind, str] = {
    "encoder": "Self-attention of the encoder",
    "decoder": "Masked self-attention of the decoder",
    "cross": "Attention to the source",
}


def text(trace: Record, kind: Kind | None = None, layer: int | None = None, head: int | None = None) -> str:
    """Return the translation, the probability of each token, other translations, and one attention."""
    lines = [clean(trace.source.text), clean(trace.target.text), ""]
    width = max(cell_len(clean(step.text or step.piece)) for step in trace.steps)
    for step in trace.steps:
        others = [one for one in step.alternatives if one.token != step.token][:3]
        rest = "   ".join(f"{clean(one.text or one.piece)} {one.probability:.2f}" for one in others)
        bar = set_cell_size("█" * round(step.probability * _BAR), _BAR)
        name = set_cell_size(clean(step.text or step.piece), width)
        lines.append(f"  {name}  {step.probability:.3f} {bar} {rest}".rstrip())
    if len(trace.translations) > 1:
        lines += ["", "translations found, and their scores"]
        lines += [f"  {one.score:8.3f}  {clean(one.text)}" for one in trace.translations]
    if (chosen := choose_attention(trace, kind, layer, head)) is not None:
        lines += ["", *_attention(chosen)]
    return "\n".join(lines) + "\n"


def _attention(chosen: Chosen) -> Iterator[str]:
    yield chosen.title
    yield "  columns: " + " ".join(f"{i} {name}" for i, name in enumerate(chosen.keys, start=1))
    width = max(map(cell_len, chosen.queries))
    yield "  " + " " * width + " " + "".join(f"{i:>3}" for i in range(1, len(chosen.keys) + 1))
    for name, row in zip(chosen.queries, chosen.weights, strict=True):
        shades = (_SHADES[min(int(value * len(_SHADES)), len(_SHADES) - 1)] for value in row)
        cells = "".join(f" {shade * 2}" for shade in shades)
        yield f"  {set_cell_size(name, width)} {cells}".rstrip()


@dataclass(frozen=True)
class Chosen:
    """One matrix of weights with its title and labels."""

    title: str
    queries: tuple[str, ...]
    keys: tuple[str, ...]
    weights: Array  # QK
    causal: bool


def choose_attention(
    trace: Record, kind: Kind | None = None, layer: int | None = None, head: int | None = None
) -> Chosen | None:
    """Return the weights of a layer and head, counted from 1. Without `head`, it is the mean of all heads.

    The default is attention to the source in the last layer but one, which aligns words best (Garg et al.
    2019, section 5.1). Return None for a trace without attention. Raise ConfigError for a kind, layer or
    head that the model does not have.
    """
    if not trace.attention and kind is None:
        return None
    attention = trace.attention_of(kind or "cross")
    if attention is None:
        has = ", ".join(one.kind for one in trace.attention) or "none"
        raise ConfigError(f"the model has no {kind} attention", hint=f"it has: {has}")
    layers, heads = attention.weights.shape[:2]
    layer = max(layers - 1, 1) if layer is None else layer
    for name, number, count in (("layer", layer, layers), ("head", 1 if head is None else head, heads)):
        if not 1 <= number <= count:
            raise ConfigError(
                f"this model has no {name} {number}", hint=f"the model has {name}s 1 to {count}"
            )
    weights = attention.weights[layer - 1]
    which = f", {'mean of the heads' if head is None else f'head {head}'}" if heads > 1 else ""
    sides = {"source": trace.source.tokens, "inputs": trace.inputs, "target": trace.target.tokens}
    names = {side: tuple(clean(one.text or one.piece) for one in each) for side, each in sides.items()}
    return Chosen(
        title=f"{_TITLES[attention.kind]}: layer {layer} of {layers}{which}",
        # A row of cross-attention belongs to the token that the decoder predicts next.
        queries=names["target" if attention.kind == "cross" else attention.queries],
        keys=names[attention.keys],
        weights=weights.mean(0) if head is None else weights[head - 1],
        causal=attention.causal,
    )
