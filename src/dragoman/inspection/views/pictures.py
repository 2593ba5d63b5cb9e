"""Parts of a trace as SVG and PNG, for papers: dark on white, with text as text."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Sequence
from itertools import groupby

import numpy as np
from rich.cells import cell_len

from dragoman.base.errors import DragomanError
from dragoman.inspection.arrays import Array
from dragoman.inspection.positions import cosine_similarity
from dragoman.inspection.record import Kind, Node, Positions, Record
from dragoman.inspection.views.plain import choose_attention
from dragoman.text.clean import clean

_CELL, _LETTER, _GAP = 22, 7.5, 28
_MOST = 256  # rows and columns of a table; the rest is not drawn
_PIXELS = 40e6  # of a PNG
_INK, _SOFT, _LINE = "#1b1b1f", "#5c5c66", "#d9d9e0"
_BLUE, _ORANGE = (8, 69, 128), (176, 71, 0)
_FATES = {"kept": "#0072b2", "finished": "#009e73", "pruned": "#8a8a94", "banned": "#a33b00"}


def attention_svg(
    trace: Record, kind: Kind | None = None, layer: int | None = None, head: int | None = None
) -> str:
    """Return a matrix of weights with its tokens. `views.choose_attention` documents the defaults."""
    chosen = choose_attention(trace, kind, layer, head)
    if chosen is None:
        return _svg(360, 60, [_text(16, 36, "This model has no attention.")])
    left = 24 + _LETTER * max(map(cell_len, chosen.queries))
    top = 56 + _LETTER * 0.8 * max(map(cell_len, chosen.keys))
    parts = [_text(16, 28, chosen.title, weight=600)]
    for j, name in enumerate(chosen.keys):
        x = left + (j + 0.65) * _CELL
        turned = f'transform="rotate(-50 {x:.1f} {top - 8:.1f})"'
        parts.append(
            f'<text x="{x:.1f}" y="{top - 8:.1f}" fill="{_SOFT}" {turned}>{html.escape(name)}</text>'
        )
    for i, name in enumerate(chosen.queries):
        parts.append(_text(left - 8, top + (i + 0.7) * _CELL, name, anchor="end", colour=_SOFT))
    parts += _cells(chosen.weights, left, top, _CELL, masked=chosen.causal)
    rows, columns = chosen.weights.shape
    width = max(left + columns * _CELL, 16 + _LETTER * len(chosen.title)) + 60
    return _svg(width, top + rows * _CELL + 16, parts)


def heads_svg(trace: Record, kind: Kind | None = None) -> str:
    """Return small matrices of one kind of attention: a row for each layer, a column for each head."""
    chosen = choose_attention(trace, kind)
    attention = trace.attention_of(kind or "cross")
    if chosen is None or attention is None:
        return _svg(360, 60, [_text(16, 36, "This model has no attention.")])
    layers, heads, rows, columns = attention.weights.shape
    cell = max(2.0, min(8.0, 130 / max(rows, columns)))
    across, high = columns * cell + 16, rows * cell + 16
    title = chosen.title.split(":")[0]
    parts = [_text(16, 28, title, weight=600)]
    for head in range(heads):
        parts.append(_text(64 + head * across, 56, f"head {head + 1}", colour=_SOFT))
    for layer in range(layers):
        parts.append(_text(16, 78 + layer * high, f"layer {layer + 1}", colour=_SOFT))
        for head in range(heads):
            x, y = 64 + head * across, 66 + layer * high
            parts += _cells(attention.weights[layer, head], x, y, cell, masked=attention.causal)
    return _svg(max(64 + heads * across, 32 + _LETTER * len(title)), 66 + layers * high, parts)


def beam_svg(trace: Record, *, pruned: bool = False) -> str:
    """Return the tree of the search, one column a step. `pruned` includes candidates that were dropped."""
    if trace.beam is None:
        return _svg(420, 60, [_text(16, 36, "This translation was given, so no search ran.")])
    nodes = trace.beam.nodes
    shown = [n for n, node in enumerate(nodes) if pruned or node.fate in ("kept", "finished") or node.best]
    row: dict[int, int] = {}
    filled: dict[int, int] = {}
    for n in sorted(shown, key=lambda n: (nodes[n].step, -nodes[n].total)):
        row[n] = filled.get(nodes[n].step, 0)
        filled[nodes[n].step] = row[n] + 1
    widest: dict[int, float] = {}
    for n in shown:
        step = nodes[n].step
        widest[step] = max(widest.get(step, 0.0), 60 + _LETTER * len(_label(nodes[n])))
    left = {step: 24 + sum(widest[s] for s in widest if s < step) for step in widest}

    def place(n: int) -> tuple[float, float]:
        return left[nodes[n].step] + 8, 60 + row[n] * _GAP

    edges, marks = [], []
    for n in shown:
        x, y = place(n)
        node = nodes[n]
        if node.parent is not None and node.parent in row:
            px, py = place(node.parent)
            px += 14 + _LETTER * len(_label(nodes[node.parent]))
            over, down = x - 8 - px, y - py
            curve = f"c{over / 2:.1f} 0 {over / 2:.1f} {down:.1f} {over:.1f} {down:.1f}"
            colour, thick = (_FATES["kept"], 2.2) if node.best else (_LINE, 1.2)
            edges.append(
                f'<path d="M{px:.1f} {py:.1f}{curve}" fill="none" stroke="{colour}" stroke-width="{thick}"/>'
            )
        marks.append(_mark(node, x, y))
        detail = (
            f"log-probability {node.logp:.3f}, total {node.total:.3f}, score {node.score:.3f}, {node.fate}"
        )
        marks.append(_text(x + 10, y + 4, _label(node), weight=700 if node.best else 400, title=detail))
    title = f"Beam search, {trace.beam.size} wide: {trace.target.text}"
    parts = [_text(16, 28, title, weight=600)]
    width = max(left.values(), default=0) + max(widest.values(), default=0) + 24
    legend, x = 60 + max(filled.values(), default=1) * _GAP + 8, 24.0
    for fate in _FATES:
        if any(nodes[n].fate == fate for n in shown):
            example = next(nodes[n] for n in shown if nodes[n].fate == fate)
            parts += [_mark(example, x, legend), _text(x + 10, legend + 4, fate, colour=_SOFT)]
            x += 90
    width = max(width, 48 + _LETTER * cell_len(title))
    return _svg(width, legend + 24, parts + edges + marks)


def positions_svg(positions: Positions) -> str:
    """Return each table as a heat map, and the similarity of its rows."""
    parts = [_text(16, 28, positions.note, weight=600)]
    y, width = 56.0, 32 + _LETTER * len(positions.note)
    for table in positions.tables:
        values = table.values[:_MOST, :_MOST]
        cell = max(2.0, min(14.0, 560 / max(values.shape[1], 1)))
        high = max(2.0, min(14.0, 420 / len(values)))
        last = table.first + len(values) - 1
        heading = f"{table.name}: {table.rows} {table.first} to {last}, {values.shape[1]} {table.columns}s"
        parts.append(_text(16, y, heading))
        parts += _cells(values, 16, y + 12, cell, high=high, signed=True)
        across = 16 + max(values.shape[1] * cell, _LETTER * cell_len(heading)) + 32
        if table.columns == "dimension" and len(values) > 1:
            heading = "cosine similarity between rows"
            parts.append(_text(across, y, heading))
            parts += _cells(cosine_similarity(values), across, y + 12, high, signed=True)
            across += max(len(values) * high, _LETTER * len(heading)) + 32
        width = max(width, across, across + 16)
        y += len(values) * high + 52
    return _svg(width, y, parts)


def png(svg: str) -> bytes:
    """Return the picture as PNG. Raise DragomanError if it is too large or resvg-py is not installed."""
    try:
        import resvg_py
    except ImportError as error:
        raise DragomanError(
            "PNG needs resvg-py, which is not installed", hint="pip install 'dragoman[png]', or write SVG"
        ) from error
    size = re.match(r'<svg [^>]*width="(\d+)" height="(\d+)"', svg)
    pixels = int(size[1]) * int(size[2]) if size else 1
    zoom = min(2.0, math.sqrt(_PIXELS / pixels))
    if zoom < 0.5:
        raise DragomanError(
            "the picture is too large for PNG", hint="write SVG, or choose a shorter sentence"
        )
    return bytes(resvg_py.svg_to_bytes(svg_string=svg, zoom=zoom, background="#ffffff"))


def _cells(
    values: Array,
    left: float,
    top: float,
    size: float,
    *,
    high: float | None = None,
    masked: bool = False,
    signed: bool = False,
) -> list[str]:
    """Return a heat map. Neighbours of one colour in a row become one rectangle."""
    high = high or size
    rows, columns = values.shape
    frame = f'x="{left:.1f}" y="{top:.1f}" width="{columns * size:.1f}" height="{rows * high:.1f}"'
    parts = [f'<rect {frame} fill="#ffffff" stroke="{_LINE}"/>']
    most = float(np.abs(values).max(initial=0.0)) or 1.0
    for i in range(rows):
        colours = [
            "#f0f0f3" if masked and j > i else _colour(float(values[i, j]) / (most if signed else 1.0))
            for j in range(columns)
        ]
        j = 0
        for colour, run in groupby(colours):
            length = len([*run])
            if colour != "#ffffff":
                x, y, across = left + j * size, top + i * high, length * size
                place = f'x="{x:.1f}" y="{y:.1f}" width="{across:.2f}" height="{high:.2f}"'
                parts.append(f'<rect {place} fill="{colour}" shape-rendering="crispEdges"/>')
            j += length
    return parts


def _colour(share: float) -> str:
    """Return a colour from white to blue, or to orange below zero, in 64 steps."""
    ink = _BLUE if share >= 0 else _ORANGE
    amount = round(min(abs(share), 1.0) * 64) / 64
    return "#" + "".join(f"{round(255 + (channel - 255) * amount):02x}" for channel in ink)


def _mark(node: Node, x: float, y: float) -> str:
    colour = _FATES[node.fate]
    match node.fate:
        case "kept":
            return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{colour}"/>'
        case "finished":
            return f'<rect x="{x - 5:.1f}" y="{y - 5:.1f}" width="10" height="10" fill="{colour}"/>'
        case "pruned":
            ring = f'fill="#ffffff" stroke="{colour}" stroke-width="1.5"'
            return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" {ring}/>'
        case "banned":
            path = f"M{x - 4:.1f} {y - 4:.1f}l8 8m0 -8l-8 8"
            return f'<path d="{path}" stroke="{colour}" stroke-width="2"/>'


def _label(node: Node) -> str:
    return f"{node.text or node.piece} {math.exp(node.logp):.2f}"


def _text(
    x: float,
    y: float,
    text: str,
    *,
    anchor: str = "start",
    colour: str = _INK,
    weight: int = 400,
    title: str = "",
) -> str:
    inside = (f"<title>{html.escape(title)}</title>" if title else "") + html.escape(clean(text))
    look = f'text-anchor="{anchor}" fill="{colour}" font-weight="{weight}"'
    return f'<text x="{x:.1f}" y="{y:.1f}" {look}>{inside}</text>'


def _svg(width: float, height: float, parts: Sequence[str]) -> str:
    w, h = math.ceil(width), math.ceil(height)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{w}" height="{h}" viewBox="0 0 {w} {h}" '
        "font-family=\"system-ui, 'Noto Sans', 'DejaVu Sans', sans-serif\" font-size=\"13\">\n"
        f'<rect width="{w}" height="{h}" fill="#ffffff"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )
