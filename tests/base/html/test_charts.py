"""Charts: what is drawn where, that text is only text, and that a page needs nothing else."""

from __future__ import annotations

import itertools
import re
import xml.etree.ElementTree as ET

import pytest

from dragoman.base.html.charts import Curve, heading, line_chart, page, paragraph, svg_file, table

NASTY = "</script><img onerror=alert(1)> & \"'"


def svg_of(figure: str) -> ET.Element:
    found = re.search(r"<svg.*</svg>", figure, re.S)
    assert found
    return ET.fromstring(found[0])  # well-formed, or this raises


def curves(figure: str) -> list[list[tuple[float, float]]]:
    paths = [p for p in svg_of(figure).iter("path") if "curve" in p.get("class", "")]
    return [
        [(float(a), float(b)) for a, b in re.findall(r"(-?[\d.]+) (-?[\d.]+)", p.get("d", ""))] for p in paths
    ]


def chart(*lines: Curve, log: bool = False) -> str:
    return line_chart(lines, title="growth", x="time", y="size", log=log)


def test_places_are_in_proportion() -> None:
    (points,) = curves(chart(Curve(name="a", points=[(0, 0), (1, 10), (2, 20)])))

    assert points[1][0] - points[0][0] == pytest.approx(points[2][0] - points[1][0], abs=0.2)
    assert points[0][1] - points[1][1] == pytest.approx(points[1][1] - points[2][1], abs=0.2)
    assert points[0][1] > points[2][1]  # up is up


def test_logarithmic_axes_make_a_power_a_straight_line() -> None:
    (points,) = curves(chart(Curve(name="a", points=[(n, 3.0 * n**2) for n in (1, 4, 16)]), log=True))

    slopes = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in itertools.pairwise(points)]
    assert slopes[0] == pytest.approx(slopes[1], rel=0.01)


def test_ticks_are_round_and_hold_the_values() -> None:
    texts = [t.text for t in svg_of(chart(Curve(name="a", points=[(0.3, 12), (9.2, 31.7)]))).iter("text")]

    assert {"0", "2", "4", "6", "8", "10"} <= set(texts)
    assert {"15", "20", "25", "30", "35"} <= set(texts) or {"10", "20", "30", "40"} <= set(texts)


def test_a_predicted_line_is_dashed_in_the_colour_of_the_one_before() -> None:
    figure = chart(
        Curve(name="a", points=[(1, 1), (2, 2)]),
        Curve(name="a", points=[(1, 1), (2, 3)], predicted=True),
        Curve(name="b", points=[(1, 2), (2, 1)]),
    )

    kinds = [p.get("class") for p in svg_of(figure).iter("path") if "curve" in p.get("class", "")]
    assert kinds == ["curve c0", "curve c0 predicted", "curve c1"]


def test_names_at_the_ends_do_not_cover_each_other() -> None:
    lines = [Curve(name=f"l{i}", points=[(0, 0), (1, 10 + i / 100)]) for i in range(6)]

    heights = sorted(
        float(t.get("y", "0")) for t in svg_of(chart(*lines)).iter("text") if "name" in t.get("class", "")
    )

    assert len(heights) == 6
    assert min(b - a for a, b in itertools.pairwise(heights)) >= 15


@pytest.mark.parametrize("points", [[(5, 5)], [(1, 2), (1, 2)], [(0, 0), (1, 0)], [(-3, -4), (-1, -2)]])
@pytest.mark.parametrize("log", [False, True])
def test_few_equal_and_negative_values_are_drawn_too(points: list[tuple[float, float]], log: bool) -> None:
    if log and min(min(p) for p in points) <= 0:
        points = [(abs(a) + 1, abs(b) + 1) for a, b in points]

    (drawn,) = curves(chart(Curve(name="a", points=points), log=log))

    assert all(0 <= x <= 760 and 0 <= y <= 420 for x, y in drawn)


def test_nothing_to_draw_is_said() -> None:
    assert "nothing to draw" in chart(Curve(name="a", points=[]))


def test_text_is_only_text() -> None:
    html = page(
        NASTY, heading(NASTY), paragraph(NASTY), table([NASTY], [[NASTY]]),
        line_chart([Curve(name=NASTY, points=[(1, 1), (2, 2)])], title=NASTY, x=NASTY, y=NASTY),
    )  # fmt: skip

    assert "<img" not in html
    assert "<script" not in html
    assert html.count("&lt;img") >= 9


def test_a_page_asks_for_nothing() -> None:
    html = page("t", chart(Curve(name="a", points=[(1, 1), (2, 2)])))

    assert "default-src 'none'" in html
    assert not re.search(r"(src|href)=|url\(|@import|https?:", html)
    assert "prefers-color-scheme: dark" in html


def test_an_svg_file_stands_alone() -> None:
    curve = Curve(name="a < b", points=[(0.0, 0.0), (1.0, 0.5)])
    root = ET.fromstring(svg_file([curve], title="T", x="x", y="y"))

    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert root.get("aria-label") == "T"
    assert "--paper" in (root[0].text or "")
    assert any(one.text == "a < b" for one in root.iter())
    with pytest.raises(ValueError, match="no points"):
        svg_file([Curve(name="a", points=[])], title="T", x="x", y="y")
