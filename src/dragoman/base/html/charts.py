"""Line charts and tables as one self-contained HTML page: no scripts, no network, light and dark.

All text is escaped. Colour-blind readers can tell the colours apart (Okabe and Ito 2008).
"""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass

_WIDTH, _HEIGHT = 760, 420
_LEFT, _TOP, _BOTTOM = 64, 16, 48  # room for the labels around the plot
_LETTER = 8.0  # width of a letter: a little more than the average
_COLOURS = 8
_MARKS = ("circle", "square", "diamond", "triangle")  # so that curves differ not only in colour

_STYLE = """
:root { color-scheme: light dark; --ink: #1b1b1f; --soft: #5c5c66; --line: #d9d9e0; --paper: #ffffff;
  --c0: #0072b2; --c1: #d55e00; --c2: #009e73; --c3: #b3589a;
  --c4: #8a6d00; --c5: #3a8fc2; --c6: #000000; --c7: #a33b00; }
@media (prefers-color-scheme: dark) { :root { --ink: #ececf1; --soft: #a4a4b0; --line: #3a3a44;
  --paper: #16161a; --c0: #56b4e9; --c1: #ff9248; --c2: #2fd0a5; --c3: #e59cc9;
  --c4: #f0e442; --c5: #9ad0f5; --c6: #ffffff; --c7: #f5b183; } }
body { margin: 2rem auto; padding: 0 1rem; max-width: 52rem; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2.5rem; }
p, figcaption { color: var(--soft); } figure { margin: 1rem 0; }
svg { width: 100%; height: auto; font: 13px system-ui, sans-serif; }
svg text { fill: var(--soft); } svg .name { font-weight: 600; } svg .grid { stroke: var(--line); }
svg .curve { fill: none; stroke-width: 2; } svg .predicted { stroke-dasharray: 5 4; stroke-width: 1.5; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; white-space: nowrap; }
th, td { padding: .3rem .8rem .3rem 0; border-bottom: 1px solid var(--line); text-align: right; }
th:first-child, td:first-child { text-align: left; } th { font-weight: 600; }
table.text :is(th, td) { text-align: left; vertical-align: top; white-space: normal; min-width: 4rem; }
""" + "".join(
    f".c{i} {{ stroke: var(--c{i}); }} svg .c{i}.fill {{ fill: var(--c{i}); stroke: none; }}\n"
    for i in range(_COLOURS)
)


@dataclass(frozen=True, kw_only=True)
class Curve:
    """Named points, joined. A `predicted` curve is dashed, in the colour of the curve before it."""

    name: str
    points: Sequence[tuple[float, float]]
    predicted: bool = False


def page(title: str, *parts: str) -> str:
    """An HTML document. `parts` are HTML already."""
    safe = html.escape(title).encode("utf-8", "replace").decode()
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{safe}</title><style>{_STYLE}</style></head>\n<body><main><h1>{safe}</h1>\n"
        + "\n".join(parts)
        + "\n</main></body></html>\n"
    )


def heading(text: str) -> str:
    """A heading within the page."""
    return f"<h2>{html.escape(text)}</h2>"


def paragraph(text: str) -> str:
    """A paragraph."""
    return f"<p>{html.escape(text)}</p>"


def table(head: Sequence[str], rows: Sequence[Sequence[str]], kind: str = "numbers") -> str:
    """A table whose first column names the rows. Those of the kind "text" break lines."""

    def row(cells: Sequence[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    body = "\n".join(row(cells, "td") for cells in rows)
    whole = f'<table class="{kind}"><thead>{row(head, "th")}</thead>\n<tbody>{body}</tbody></table>'
    return f'<div class="scroll" tabindex="0">{whole}</div>'


def line_chart(curves: Sequence[Curve], *, title: str, x: str, y: str, log: bool = False) -> str:
    """A figure of curves over one pair of axes. With `log` both axes are logarithmic."""
    curves = [curve for curve in curves if curve.points]
    if not curves:
        return paragraph("nothing to draw")
    drawn = _svg(curves, title, x, y, log)
    return f"<figure>{drawn}<figcaption>{html.escape(title)}</figcaption></figure>"


def svg_file(curves: Sequence[Curve], *, title: str, x: str, y: str) -> str:
    """An SVG document of curves over one pair of axes. Raises ValueError if no curve has points."""
    curves = [curve for curve in curves if curve.points]
    if not curves:
        raise ValueError("no points to draw")
    opening, rest = _svg(curves, title, x, y, log=False).split(">", 1)
    style = _STYLE.replace(":root", "svg").replace("svg {", "svg { background: var(--paper);", 1)
    return f'{opening} xmlns="http://www.w3.org/2000/svg"><style>{style}</style>{rest}\n'


def _svg(curves: Sequence[Curve], title: str, x: str, y: str, log: bool) -> str:
    right = _WIDTH - 24 - _LETTER * min(max(len(curve.name) for curve in curves), 45)  # room for the names
    across = _Axis([p[0] for curve in curves for p in curve.points], _LEFT, right, log)
    up = _Axis([p[1] for curve in curves for p in curve.points], _HEIGHT - _BOTTOM, _TOP, log)
    parts = []
    for value in across.ticks:
        place = across.place(value)
        parts.append(
            f'<line class="grid" x1="{place:.1f}" x2="{place:.1f}" y1="{_TOP}" y2="{_HEIGHT - _BOTTOM}"/>'
        )
        parts.append(_text(place, _HEIGHT - _BOTTOM + 18, _short(value), "middle"))
    for value in up.ticks:
        place = up.place(value)
        parts.append(f'<line class="grid" x1="{_LEFT}" x2="{right}" y1="{place:.1f}" y2="{place:.1f}"/>')
        parts.append(_text(_LEFT - 8, place + 4, _short(value), "end"))
    parts.append(_text((_LEFT + right) / 2, _HEIGHT - 8, x, "middle"))
    middle = (_TOP + _HEIGHT - _BOTTOM) / 2
    parts.append(
        f'<text x="14" y="{middle}" text-anchor="middle" transform="rotate(-90 14 {middle})">'
        f"{html.escape(y)}</text>"
    )
    ends: list[tuple[float, int, str]] = []
    number = -1
    for curve in curves:
        number += not curve.predicted or number < 0
        places = [(across.place(a), up.place(b)) for a, b in sorted(curve.points)]
        path = "M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in places)
        kind = f"curve c{number % _COLOURS}" + (" predicted" if curve.predicted else "")
        parts.append(f'<path class="{kind}" d="{path}"><title>{html.escape(curve.name)}</title></path>')
        if not curve.predicted:
            parts += [_mark(a, b, number) for a, b in places]
            ends.append((places[-1][1], number, curve.name))
    # Names are at the ends of their curves, moved apart if two ends are close.
    below = -math.inf
    for height, number, name in sorted(ends):
        below = max(height + 4, below + 16)
        parts.append(
            f'<text class="name fill c{number % _COLOURS}" x="{right + 12}" y="{below:.1f}">'
            f"{html.escape(name)}</text>"
        )
    height = max(_HEIGHT, int(below) + 8)
    return (
        f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{html.escape(title)}">'
        + "\n".join(parts)
        + "</svg>"
    )


class _Axis:
    """Maps values to places on the page, and chooses round values to mark (`ticks`)."""

    def __init__(self, values: Sequence[float], start: float, end: float, log: bool) -> None:
        self.start, self.end, self.log = start, end, log
        low, high = min(values), max(values)
        if log:
            low, high = max(low, 1e-300), max(high, 1e-300)
            low, high = low / 1.1, high * 1.1
            powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
            steps = (1, 2, 5) if math.log10(high / low) < 2.5 else (1,)
            self.ticks = [m * 10.0**p for p in powers for m in steps if low <= m * 10.0**p <= high]
        else:
            low = min(low, 0.0) if low < 0.5 * high else low
            step = _step((high - low) or abs(high) or 1.0)
            low, high = math.floor(low / step) * step, math.ceil(high / step) * step
            high = high if high > low else low + step
            count = round((high - low) / step)
            self.ticks = [low + step * i for i in range(count + 1)]
        self.low, self.high = low, high

    def place(self, value: float) -> float:
        """Place of a value on the page."""
        if self.log:
            share = math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)


def _step(span: float) -> float:
    """Return a round distance that divides a span into about six parts."""
    rough = span / 6
    power = 10.0 ** math.floor(math.log10(rough))
    return next(m * power for m in (1, 2, 5, 10) if m * power >= rough * 0.999)


def _short(value: float) -> str:
    for limit, letter in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= limit:
            return f"{value / (1e3 if letter == 'k' else limit):g}{letter}"
    return f"{value:.6g}"


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{html.escape(text)}</text>'


def _mark(x: float, y: float, number: int) -> str:
    kind = f'class="fill c{number % _COLOURS}"'
    match _MARKS[number % len(_MARKS)]:
        case "circle":
            return f'<circle {kind} cx="{x:.1f}" cy="{y:.1f}" r="3.5"/>'
        case "square":
            return f'<rect {kind} x="{x - 3:.1f}" y="{y - 3:.1f}" width="6" height="6"/>'
        case "diamond":
            return f'<path {kind} d="M{x:.1f} {y - 4.5:.1f}l4.5 4.5l-4.5 4.5l-4.5 -4.5z"/>'
        case _:
            return f'<path {kind} d="M{x:.1f} {y - 4.5:.1f}l4.5 8h-9z"/>'
