from __future__ import annotations

import sys
import xml.etree.ElementTree as ElementTree

import pytest
from tests.inspection.models import KINDS, bundle, transformer

from dragoman.base.errors import ConfigError, DragomanError
from dragoman.inspection import inspect
from dragoman.inspection.positions import laboratory
from dragoman.inspection.views import pictures
from dragoman.inspection.views.plain import choose_attention, text

SENTENCE = "The <dog> & the cat 你好."


@pytest.mark.parametrize("kind", KINDS)
def test_pictures_of_every_architecture(kind: str) -> None:
    trace = inspect(bundle(KINDS[kind]), SENTENCE, max_extra_tokens=3)
    for svg in (
        pictures.attention_svg(trace),
        pictures.heads_svg(trace),
        pictures.beam_svg(trace, pruned=True),
        pictures.positions_svg(trace.positions),
    ):
        ElementTree.fromstring(svg)
    assert text(trace).startswith(SENTENCE)


def test_a_matrix_has_its_tokens_and_its_weights() -> None:
    trace = inspect(bundle(transformer()), SENTENCE, max_extra_tokens=3)
    root = ElementTree.fromstring(pictures.attention_svg(trace, "encoder", 1, 2))
    texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert texts[0] == "Self-attention of the encoder: layer 1 of 2, head 2"
    assert texts[1:] == 2 * [token.text or token.piece for token in trace.source.tokens]


def test_the_tree_shows_what_went_on() -> None:
    trace = inspect(bundle(transformer()), SENTENCE, max_extra_tokens=3)
    assert trace.beam is not None
    fates = [node.fate for node in trace.beam.nodes]
    svg = pictures.beam_svg(trace)
    assert svg.count("<title>") == fates.count("kept") + fates.count("finished")
    assert pictures.beam_svg(trace, pruned=True).count("<title>") == len(fates)


def test_png() -> None:
    assert pictures.png(pictures.positions_svg(laboratory(8, 4))).startswith(b"\x89PNG")


def test_headings_of_positions_do_not_overlap() -> None:
    root = ElementTree.fromstring(pictures.positions_svg(laboratory(8, 4)))
    (first, second) = root.findall("{http://www.w3.org/2000/svg}text")[1:3]
    assert second.text == "cosine similarity between rows"
    assert float(second.get("x", 0)) > float(first.get("x", 0)) + 7 * len(first.text or "")


def test_a_picture_too_large_for_png() -> None:
    with pytest.raises(DragomanError, match="too large"):
        pictures.png('<svg xmlns="http://www.w3.org/2000/svg" width="90000" height="9000"></svg>')
    assert len(pictures.positions_svg(laboratory(1024, 1024))) < 20_000_000


def test_png_without_what_draws_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(DragomanError, match="resvg-py") as caught:
        pictures.png("<svg/>")
    assert "dragoman[png]" in caught.value.hint


def test_choosing() -> None:
    trace = inspect(bundle(transformer(decoder_layers=3)), SENTENCE, max_extra_tokens=3)
    chosen = choose_attention(trace)
    assert chosen is not None
    assert chosen.title == "Attention to the source: layer 2 of 3, mean of the heads"
    assert chosen.queries == tuple(token.text or token.piece for token in trace.target.tokens)
    mine = choose_attention(trace, "decoder", 3, 1)
    assert mine is not None
    assert (mine.weights == trace.attention[1].weights[2, 0]).all()
    assert mine.queries[0] == "<s>"
    for wrong in ((None, 4, None), (None, None, 3), ("encoder", 0, None)):
        with pytest.raises(ConfigError):
            choose_attention(trace, *wrong)  # type: ignore[arg-type]
    blind = inspect(
        bundle(KINDS["lstm"] if "lstm" in KINDS else KINDS[next(k for k in KINDS if "trans" not in k)]),
        SENTENCE,
    )
    if not blind.attention:
        assert choose_attention(blind) is None
        with pytest.raises(ConfigError, match="no encoder attention"):
            choose_attention(blind, "encoder")
