"""Positional encodings: how a model without recurrence knows the order of its input (section 3.5).

There are two kinds. Some change the input of the model, once. The others act inside every self-attention:
they rotate queries and keys, or add to the logits or the values.

B batch, T queries or length, S keys, H heads, D head width, E model width.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from dragoman.models.shapes import FARTHEST_RELATIVE, AnyPositions, SinusoidLayout, TransformerOptions


def sinusoidal(
    length: int, width: int, layout: SinusoidLayout = "sinusoidal", start: int = 0, *, base: float = 10000.0
) -> Tensor:
    """table_TE of positions start .. start + length - 1, float32, computed in float64.

    PE(pos, 2i) = sin(pos / base^(2i/E)) and PE(pos, 2i+1) = cos of the same, section 3.5.
    "sinusoidal" alternates sines and cosines, as in the paper. "sinusoidal-halves" puts all sines before
    all cosines, as Hugging Face does for Marian's models: the same columns in another order.
    "sinusoidal-t2t" has that order too, but its rates are base^(-i / (E/2 - 1)), as in Tensor2Tensor
    (get_timing_signal_1d) and Marian (src/graph/node_initializers.cpp, sinusoidalPositionEmbeddings).
    """
    position_T1 = torch.arange(start, start + length, dtype=torch.float64).unsqueeze(1)
    t2t = layout == "sinusoidal-t2t"
    pairs, slowest = (width // 2, max(width // 2 - 1, 1)) if t2t else ((width + 1) // 2, width / 2)
    rate = base ** (-torch.arange(pairs, dtype=torch.float64) / slowest)
    angle = position_T1 * rate
    if layout == "sinusoidal":
        table_TE = torch.stack((angle.sin(), angle.cos()), dim=2).flatten(1)[:, :width]
    else:
        table_TE = torch.cat((angle.sin(), angle.cos()[:, : width - pairs]), dim=1)
        table_TE = nn.functional.pad(table_TE, (0, width - table_TE.shape[1]))  # t2t: 0 in a column left over
    return table_TE.float()


# ---- on the input: forward(x_BTE, start, length_B) -> x_BTE ----------------------------------------


def on_input(kind: AnyPositions, width: int) -> nn.Module:
    """Return the module that acts on the embeddings: `forward(x_BTE, start, length_B)`.

    x begins at position `start`, and `length_B` is the length of the sources. The module is the identity if
    positions act inside attention.
    """
    match kind:
        case "sinusoidal" | "sinusoidal-halves" | "sinusoidal-t2t":
            return SinusoidalPositions(width, kind)
        case "learned" | "learned-apart":
            return LearnedPositions(width)
        case "index":
            return IndexPositions()
        case "fraction":
            return IndexPositions(fraction=True)
        case _:
            return NoPositions()


def on_inputs(kind: AnyPositions, width: int) -> tuple[nn.Module, nn.Module]:
    """Return the modules for sources and targets: the same one, unless they have tables of their own."""
    source = on_input(kind, width)
    return source, on_input(kind, width) if kind == "learned-apart" else source


class NoPositions(nn.Module):
    """The identity."""

    def forward(self, x_BTE: Tensor, start: int = 0, length_B: Tensor | None = None) -> Tensor:
        """x_BTE."""
        return x_BTE


class SinusoidalPositions(nn.Module):
    """Add the sinusoidal table to the embeddings. Has no parameters and no maximum length."""

    table_TE: Tensor

    def __init__(self, width: int, layout: SinusoidLayout) -> None:
        super().__init__()
        self.layout: SinusoidLayout = layout
        self.register_buffer("table_TE", sinusoidal(256, width, layout), persistent=False)

    def rows(self, start: int, length: int) -> Tensor:
        """The `length` rows of the table from position `start` on."""
        if start + length > len(self.table_TE):
            with torch.inference_mode(False):  # training must be able to use a table that grew in validation
                rows = max(start + length, 2 * len(self.table_TE))
                table_TE = sinusoidal(rows, self.table_TE.shape[1], self.layout)
                self.table_TE = table_TE.to(self.table_TE.device, self.table_TE.dtype)
        return self.table_TE[start : start + length]

    def forward(self, x_BTE: Tensor, start: int = 0, length_B: Tensor | None = None) -> Tensor:
        """x_BTE plus the table's rows from position `start` on."""
        return x_BTE + self.rows(start, x_BTE.shape[1]).to(x_BTE.dtype)


class LearnedPositions(nn.Module):
    """Add a learned vector for each position (Gehring et al. 2017; the paper's table 3, row E).

    Positions from `LONGEST` on share the last vector. Positions beyond the training sentences keep their
    initial vector.
    """

    LONGEST = 1024

    def __init__(self, width: int) -> None:
        super().__init__()
        self.table = nn.Embedding(self.LONGEST, width)
        nn.init.normal_(self.table.weight, std=width**-0.5)

    def forward(self, x_BTE: Tensor, start: int = 0, length_B: Tensor | None = None) -> Tensor:
        """x_BTE plus the vectors of positions `start` and on."""
        position_T = torch.arange(start, start + x_BTE.shape[1], device=x_BTE.device)
        rows_TE: Tensor = self.table(position_T.clamp(max=self.LONGEST - 1))
        return x_BTE + rows_TE.to(x_BTE.dtype)


class IndexPositions(nn.Module):
    """Two naive encodings: put a number in the last dimension of each embedding.

    The word keeps the other E - 1 dimensions. The number is the index 0, 1, 2, ... or, with
    `fraction`, the index divided by the number of source tokens. A decoder uses the source length too,
    because it does not know the length of its own sentence.
    """

    def __init__(self, *, fraction: bool = False) -> None:
        super().__init__()
        self.fraction = fraction

    def forward(self, x_BTE: Tensor, start: int = 0, length_B: Tensor | None = None) -> Tensor:
        """x_BTE with the number in its last dimension."""
        b, t, _ = x_BTE.shape
        index_BT = torch.arange(start, start + t, device=x_BTE.device).expand(b, t)
        if self.fraction:
            if length_B is None:
                raise ValueError("IndexPositions with fraction=True needs length_B")
            index_BT = index_BT / length_B.repeat_interleave(b // len(length_B))[:, None]
        return torch.cat((x_BTE[..., :-1], index_BT[..., None].to(x_BTE.dtype)), -1)


# ---- in self-attention -----------------------------------------------------------------------------


def in_layers(config: TransformerOptions, *, causal: bool) -> list[AttentionPositions]:
    """Return the module that acts inside each layer of the encoder, or of the decoder if `causal`.

    The layers of a stack share T5's biases.
    """
    kind, heads, width = config.positions, config.heads, config.d_model
    count = config.decoder_layers if causal else config.encoder_layers
    # Draw T5's biases for every layer, although one is used, so that a seed keeps giving the same weights.
    encodings = [in_attention(kind, heads, width, causal=causal) for _ in range(count)]
    return encodings[:1] * count if kind == "t5" else encodings


def in_attention(kind: AnyPositions, heads: int, width: int, *, causal: bool) -> AttentionPositions:
    """Return the module that acts inside self-attention, or the identity if positions are in the input."""
    match kind:
        case "relative":
            return RelativePositions(width // heads)
        case "t5":
            return T5Bias(heads, both_ways=not causal)
        case "alibi":
            return AlibiBias(heads)
        case "rotary":
            return RotaryPositions(width // heads)
        case _:
            return AttentionPositions()


class AttentionPositions(nn.Module):
    """Base class: three hooks, each the identity by default. Distances are key position - query position."""

    by_distance = False  # whether `bias` adds anything
    on_values = False  # whether `values` adds anything

    def turn(self, x_BHTD: Tensor, start: int = 0) -> Tensor:
        """Change queries or keys from position `start` on, before their product."""
        return x_BHTD

    def bias(self, q_BHTD: Tensor, distance_TS: Tensor) -> Tensor:
        """Return the addition to the logits, broadcast over (B, H, T, S)."""
        return q_BHTD.new_zeros(())

    def values(self, weights_BHTS: Tensor, distance_TS: Tensor) -> Tensor:
        """Return the addition to the weighted values, broadcast over (B, H, T, D)."""
        return weights_BHTS.new_zeros(())

    def added(self, mask: Tensor | None, q_BHTD: Tensor, distance: Callable[[], Tensor]) -> Tensor | None:
        """`mask` + `bias`. `distance` returns n x n numbers, so it is called only if needed."""
        if not self.by_distance:
            return mask
        bias = self.bias(q_BHTD, distance())
        return bias if mask is None else mask + bias


class RelativePositions(AttentionPositions):
    """Add a vector for each clipped distance to keys and to values: Shaw et al. 2018, eq. 3 and 4.

    Heads share the vectors. Each layer has its own.
    """

    by_distance = on_values = True
    FARTHEST = FARTHEST_RELATIVE

    def __init__(self, width: int) -> None:
        super().__init__()
        self.of_keys = nn.Embedding(2 * self.FARTHEST + 1, width)
        self.of_values = nn.Embedding(2 * self.FARTHEST + 1, width)
        for table in (self.of_keys, self.of_values):
            nn.init.xavier_uniform_(table.weight)

    def bias(self, q_BHTD: Tensor, distance_TS: Tensor) -> Tensor:
        """q (a^K)^T / sqrt(D), from one product with all the vectors."""
        logits_BHTR = (q_BHTD / math.sqrt(q_BHTD.shape[-1])) @ self.of_keys.weight.to(q_BHTD.dtype).T
        row_TS = self._row(distance_TS)
        return logits_BHTR.gather(-1, row_TS.expand(*logits_BHTR.shape[:-1], row_TS.shape[1]))

    def values(self, weights_BHTS: Tensor, distance_TS: Tensor) -> Tensor:
        """The weights summed by distance, times a^V."""
        sums_BHTR = weights_BHTS.new_zeros(*weights_BHTS.shape[:-1], 2 * self.FARTHEST + 1)
        row_BHTS = self._row(distance_TS).expand_as(weights_BHTS)
        return sums_BHTR.scatter_add(-1, row_BHTS, weights_BHTS) @ self.of_values.weight.to(sums_BHTR.dtype)

    def _row(self, distance_TS: Tensor) -> Tensor:
        return distance_TS.clamp(-self.FARTHEST, self.FARTHEST) + self.FARTHEST


class T5Bias(AttentionPositions):
    """Add a learned number for each head and bucket of distances to the logits: Raffel et al. 2020, 2.1.

    Half of the buckets hold one distance each. The others grow with the logarithm up to `FARTHEST`.
    """

    by_distance = True
    BUCKETS, FARTHEST = 32, 128

    def __init__(self, heads: int, *, both_ways: bool) -> None:
        super().__init__()
        self.both_ways = both_ways
        self.table = nn.Embedding(self.BUCKETS, heads)
        nn.init.normal_(self.table.weight, std=0.1)

    def bucket(self, distance_TS: Tensor) -> Tensor:
        """The bucket of each distance. If only the past is visible, all buckets are for the past."""
        buckets = self.BUCKETS // 2 if self.both_ways else self.BUCKETS
        first_TS = (distance_TS > 0) * buckets if self.both_ways else torch.zeros_like(distance_TS)
        far_TS = distance_TS.abs() if self.both_ways else (-distance_TS).clamp(min=0)
        single = buckets // 2
        growth_TS = (far_TS.clamp(min=1) / single).log() / math.log(self.FARTHEST / single)
        wide_TS = (single + (growth_TS * (buckets - single)).long()).clamp(max=buckets - 1)
        return first_TS + torch.where(far_TS < single, far_TS, wide_TS)

    def bias(self, q_BHTD: Tensor, distance_TS: Tensor) -> Tensor:
        """bias_HTS."""
        bias_TSH: Tensor = self.table(self.bucket(distance_TS))
        return bias_TSH.permute(2, 0, 1).to(q_BHTD.dtype)


class AlibiBias(AttentionPositions):
    """Lower the logits in proportion to the distance, with a fixed slope: Press et al. 2022.

    The slopes of H heads are a geometric sequence, 2^(-8/H), 2^(-16/H), ..., 2^-8. If H is not a power of
    two, take the sequence of the next lower power, then every other slope of the next higher one.
    """

    by_distance = True
    slope_H: Tensor

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.register_buffer("slope_H", torch.tensor(self.slopes(heads)), persistent=False)

    @classmethod
    def slopes(cls, heads: int) -> list[float]:
        """The slope of each head."""
        whole = 2 ** math.floor(math.log2(heads))
        slopes = [2 ** (-8 * (h + 1) / whole) for h in range(whole)]
        return slopes + (cls.slopes(2 * whole)[::2][: heads - whole] if heads > whole else [])

    def bias(self, q_BHTD: Tensor, distance_TS: Tensor) -> Tensor:
        """bias_HTS."""
        return (-self.slope_H[:, None, None] * distance_TS.abs()).to(q_BHTD.dtype)


class RotaryPositions(AttentionPositions):
    """Rotate each pair of dimensions of queries and keys by an angle proportional to the position.

    Their product then depends on the distance alone: Su et al. 2021, eq. 34. The frequencies are those of
    section 3.5.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.angles = SinusoidalPositions(width, "sinusoidal")

    def turn(self, x_BHTD: Tensor, start: int = 0) -> Tensor:
        """Rotate every pair (2i, 2i+1) by position / 10000^(2i/D)."""
        table_TD = self.angles.rows(start, x_BHTD.shape[2])  # float32: bf16 is too coarse for the angles
        sine, cosine = table_TD[:, 0::2], table_TD[:, 1::2]
        even, odd = x_BHTD[..., 0::2], x_BHTD[..., 1::2]
        rotated = torch.stack((even * cosine - odd * sine, even * sine + odd * cosine), -1)
        return rotated.flatten(-2).to(x_BHTD.dtype)
