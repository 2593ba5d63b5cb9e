"""Chapter 2: every live number, computed again with PyTorch and NumPy."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from dragoman import Translator
from dragoman.course import MODEL
from dragoman.models.layers.positions import IndexPositions, sinusoidal
from tests.course.reading import SENTENCES, assert_equal, chapter, each_input, live, opened

Values = dict[str, float | str]
PLACES = sinusoidal(256, 64)


class Reference:
    """The model in PyTorch."""

    def __init__(self) -> None:
        self.translator = Translator.load(MODEL, engine="pytorch")
        self.model: Any = self.translator.bundle.model.eval()

    @torch.no_grad()
    def encoded(self, ids: Tensor, table: Tensor) -> Tensor:
        """The output of the encoder with a table of positions, [tokens, width]."""
        own, self.model.positions.table_TE = self.model.positions.table_TE, table
        states: Tensor = self.model.encode(ids[None], torch.tensor([len(ids)])).states_BSE[0]
        self.model.positions.table_TE = own
        return states

    def translated(self, sentence: str, source: Tensor, target: Tensor) -> str:
        """Greedy search with these tables of positions."""
        encode, own = self.model.encode, self.model.positions.table_TE

        def reading(source_BS: Tensor, source_len_B: Tensor) -> Any:
            self.model.positions.table_TE = source
            memory = encode(source_BS, source_len_B)
            self.model.positions.table_TE = target
            return memory

        self.model.encode = reading
        text = self.translator.translate([sentence], beam=1, max_extra_tokens=20)[0].text
        self.model.encode, self.model.positions.table_TE = encode, own
        return text


def keyed(key: str, values: Tensor) -> Values:
    """Each number, with its indices in the key."""
    return {key.format(*at): value.item() for at, value in np.ndenumerate(values.numpy())}


def turns(width: int, base: float) -> Tensor:
    """The positions that each hand needs for a full turn."""
    return 2 * math.pi * base ** (2 * torch.arange(width // 2) / width)


def numbers(reference: Reference, sentence: str) -> Values:
    """The tokens in reverse, but the end; the index and the fraction; both parts of the sum."""
    model = reference.model
    ids = torch.tensor([*reference.translator.bundle.tokenizer.encode_source([sentence])[0], 2])
    back = [*reversed(range(len(ids) - 1)), len(ids) - 1]
    found: Values = {}
    for way, table in {"placed": PLACES, "none": 0 * PLACES}.items():
        before, after = reference.encoded(ids, table), reference.encoded(ids[back], table)[back]
        found[f"order.shuffle.{way}"] = (before - after).abs().max().item()
    found |= keyed("order.shuffle.{}.before.{}", before[:, :3])
    found |= keyed("order.shuffle.{}.after.{}", after[:, :3])

    embeddings, places = model.source_embedding.weight.detach()[ids] * 8, PLACES[: len(ids)]
    pair = IndexPositions()(embeddings[:2, None], 20)[:, 0]
    found["order.index.length"], found["order.index.position"] = pair[0, :-1].norm().item(), 20
    found["order.index.cosine"] = torch.cosine_similarity(pair[0], pair[1], 0).item()
    for name, count in {"own": len(ids), "other": 30}.items():
        x = IndexPositions(fraction=True)(torch.zeros(1, count, 2), 0, torch.tensor([count]))[0, :, 1]
        step = (x[1] - x[0]).item()
        found[f"order.fraction.{name}.tokens"] = count
        found[f"order.fraction.{name}.step"], found[f"order.fraction.{name}.quarter"] = step, 0.25 / step

    alike = torch.cosine_similarity(embeddings, places)
    found["order.add.mean"], found["order.add.chance"] = alike.mean().item(), 1 / 8
    size = sum(one.numel() for one in model.encoder[0].parameters() if one.dim() == 2)
    found["order.add.weights"], found["order.add.doubled"] = size, 4 * size
    parts = {"embedding": embeddings.norm(dim=1), "position": places.norm(dim=1), "cosine": alike}
    for name, values in parts.items():
        found |= keyed(f"order.add.{{}}.{name}", values)
    return found


def sines() -> Values:
    """What does not depend on the sentence."""
    # R(3) is the only matrix that turns 8 independent positions into those 3 further on.
    table = sinusoidal(64, 8).double()
    turn = torch.linalg.lstsq(table[:-3], table[3:], driver="gelsd").solution.T
    found: Values = {"order.heat.value": sinusoidal(64, 64)[5, 4].item(), "order.rotation.worst": 0.0}
    for key, values in {
        "rings.{}.sin": sinusoidal(6, 16)[5, ::2],
        "rings.{}.cos": sinusoidal(6, 16)[5, 1::2],
        "rings.{}.turn": turns(16, 10000.0),
        "rotation.matrix.{}.{}": turn,
        "rotation.here.{}": table[5],
        "rotation.turned.{}": turn @ table[5],
        "rotation.there.{}": table[8],
    }.items():
        found |= keyed(f"order.{key}", values)
    rows = sinusoidal(200, 64, base=100.0).double()
    rows /= rows.norm(dim=1, keepdim=True)
    curve = (rows @ rows[0]).tolist()
    far = next(k for k, value in enumerate(curve) if value < 0.1)
    again = max(range(far, 200), key=curve.__getitem__)
    return found | {
        "order.similarity.value": (rows[20] @ rows[50]).item(),
        "order.similarity.turn": turns(64, 100.0)[-1].item(),
        "order.similarity.far": far,
        "order.similarity.again": again,
        "order.similarity.cosine": curve[again],
    }


def broken(reference: Reference, sentence: str) -> list[str]:
    """The translations of the whole model and of the changed ones."""
    later, other = sinusoidal(256, 64, start=10), sinusoidal(256, 64, base=20.0)
    tables = ((PLACES, PLACES), (0 * PLACES, PLACES), (PLACES, 0 * PLACES), (later, PLACES), (other, other))
    return [reference.translated(sentence, *pair) for pair in tables]


@cache
def common(a: tuple[str, ...], b: tuple[str, ...]) -> int:
    """The length of the longest common subsequence."""
    if not a or not b:
        return 0
    return 1 + common(a[1:], b[1:]) if a[0] == b[0] else max(common(a[1:], b), common(a, b[1:]))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("order")


@each_input
def test_every_live_number_is_pytorchs(browser: Any, folder: Path, sentences: tuple[str, ...]) -> None:
    reference = Reference()
    with opened(browser, folder) as page:
        for sentence in sentences:
            chapter(page, "order", sentence)
            shown = live(page, "order")
            texts = broken(reference, sentence)
            for i, text in enumerate(texts):
                three = shown.pop(f"order.break.{i}.gone"), texts[0], text
                gone, old, new = (tuple(one.split()) for one in three)
                assert len(gone) == len(old) - common(old, new)
                assert len(gone) == common(gone, old)
            computed: Values = {f"order.break.{i}.text": text for i, text in enumerate(texts)}
            computed |= numbers(reference, sentence) | sines()
            assert_equal(shown, computed, "order.")


def test_words_and_sliders_move(browser: Any, folder: Path) -> None:
    with opened(browser, folder) as page:
        chapter(page, "order", SENTENCES[0])
        tokens = page.locator(".places button")
        before = tokens.all_text_contents()
        tokens.first.press("Enter")
        tokens.nth(2).press("Enter")
        assert tokens.all_text_contents() == [before[2], before[1], before[0], *before[3:]]
        tokens.first.drag_to(tokens.nth(2))
        assert tokens.all_text_contents() == [before[1], before[0], before[2], *before[3:]]
        page.get_by_role("button", name="Restore").click()
        page.locator('[data-live="order.shuffle.placed"]', has_text="0.0000").wait_for()

        first = live(page, "order")
        box = page.locator('[data-widget="order.rotation"]')
        box.get_by_role("slider", name="Position").press("ArrowRight")
        second = live(page, "order")
        assert second["order.rotation.here.0"] != first["order.rotation.here.0"]
        matrix = [key for key in first if key.startswith("order.rotation.matrix")]
        assert [second[key] for key in matrix] == [first[key] for key in matrix]
        box.get_by_role("slider", name="Distance").press("ArrowRight")
        third = live(page, "order")
        assert [third[key] for key in matrix] != [first[key] for key in matrix]
        assert third["order.rotation.worst"] == "0.000000"

        bags = set()
        for name in ("Peter loves Anna.", "Anna loves Peter."):
            page.get_by_role("button", name=name).click()
            page.locator(f'body[data-ready="{name}"]').wait_for()
            bags.add(live(page, "order")["order.break.1.text"])
        assert len(bags) == 1
