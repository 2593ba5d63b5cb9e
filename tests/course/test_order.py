"""Chapter 2: every live number, computed again with PyTorch and NumPy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from dragoman import Translator
from dragoman.course import model_folder
from dragoman.inspection.intervention import Intervention
from dragoman.models.layers.positions import IndexPositions, sinusoidal
from tests.course.reading import SENTENCES, assert_equal, chapter, live, opened

Values = dict[str, float | str]


class Reference:
    """The model in PyTorch."""

    def __init__(self) -> None:
        self.translator = Translator.load(model_folder(), engine="pytorch")
        self.model, self.tokenizer = self.translator.bundle.model.eval(), self.translator.bundle.tokenizer
        self.width = self.model.config.d_model

    def ids(self, sentence: str) -> Tensor:
        return torch.tensor([*self.tokenizer.encode_source([sentence])[0], self.model.config.end_id])

    def embedded(self, ids: Tensor) -> Tensor:
        return self.model.source_embedding.weight.detach()[ids] * math.sqrt(self.width)

    @torch.no_grad()
    def encoded(self, ids: Tensor, *, placed: bool) -> Tensor:
        """The output of the encoder, [tokens, width]."""
        table = self.model.positions.table_TE
        self.model.positions.table_TE = table * placed
        states = self.model.encode(ids[None], torch.tensor([len(ids)])).states_BSE[0]
        self.model.positions.table_TE = table
        return states

    def translated(self, sentence: str, source: Tensor | None = None, target: Tensor | None = None) -> str:
        """Greedy search with other tables of positions."""
        positions, encode, table = self.model.positions, self.model.encode, self.model.positions.table_TE

        def reading(source_BS: Tensor, source_len_B: Tensor) -> Any:
            positions.table_TE = table if source is None else source
            memory = encode(source_BS, source_len_B)
            positions.table_TE = table if target is None else target
            return memory

        self.model.encode = reading
        text = self.translator.translate([sentence], beam=1)[0].text
        positions.table_TE, self.model.encode = table, encode
        return text


def rates(width: int, base: float) -> np.ndarray[Any, Any]:
    return base ** (-2 * np.arange(width // 2) / width)


def shuffled(reference: Reference, sentence: str) -> Values:
    """The tokens in reverse; the end stays."""
    ids = reference.ids(sentence)
    places = [*reversed(range(len(ids) - 1)), len(ids) - 1]
    found: Values = {}
    for way, placed in {"placed": True, "none": False}.items():
        before = reference.encoded(ids, placed=placed)
        after = reference.encoded(ids[places], placed=placed)[places]
        found[f"order.shuffle.{way}"] = (before - after).abs().max().item()
    for i in range(len(ids)):
        for d in range(3):
            found[f"order.shuffle.{i}.before.{d}"] = before[i, d].item()
            found[f"order.shuffle.{i}.after.{d}"] = after[i, d].item()
    assert found["order.shuffle.none"] < 1e-4 < 0.1 < found["order.shuffle.placed"]  # type: ignore[operator]
    return found


def numbered(reference: Reference, sentence: str) -> Values:
    """The index and the fraction."""
    ids = reference.ids(sentence)
    pair = IndexPositions()(reference.embedded(ids)[:2, None], 20)[:, 0]
    found: Values = {
        "order.index.length": pair[0, :-1].norm().item(),
        "order.index.position": 20,
        "order.index.cosine": torch.cosine_similarity(pair[0], pair[1], 0).item(),
    }
    for name, count in {"own": len(ids), "other": 30}.items():
        x = IndexPositions(fraction=True)(torch.zeros(1, count, 2), 0, torch.tensor([count]))[0, :, 1]
        step = (x[1] - x[0]).item()
        found[f"order.fraction.{name}.tokens"] = count
        found[f"order.fraction.{name}.step"], found[f"order.fraction.{name}.quarter"] = step, 0.25 / step
    return found


def sines() -> Values:
    """What does not depend on the sentence."""
    found: Values = {"order.heat.value": sinusoidal(64, 64)[5, 4].item()}
    for i, (sin, cos) in enumerate(sinusoidal(6, 16)[5].view(-1, 2).tolist()):
        found[f"order.rings.{i}.sin"], found[f"order.rings.{i}.cos"] = sin, cos
        found[f"order.rings.{i}.turn"] = 2 * math.pi / rates(16, 10000.0)[i]
    # R(3) is the only matrix that turns 8 independent positions into those 3 further on.
    table = sinusoidal(64, 8).double()
    turn = torch.linalg.lstsq(table[:-3], table[3:], driver="gelsd").solution.T
    for r in range(8):
        for c in range(8):
            found[f"order.rotation.matrix.{r}.{c}"] = turn[r, c].item()
        found[f"order.rotation.here.{r}"] = table[5, r].item()
        found[f"order.rotation.there.{r}"] = table[8, r].item()
        found[f"order.rotation.turned.{r}"] = (turn[r] @ table[5]).item()
    found["order.rotation.worst"] = 0.0
    rows = sinusoidal(200, 64, base=100.0).double()
    rows /= rows.norm(dim=1, keepdim=True)
    curve = (rows @ rows[0]).tolist()
    far = next(k for k, value in enumerate(curve) if value < 0.1)
    again = max(range(far, 200), key=curve.__getitem__)
    return found | {
        "order.similarity.value": (rows[20] @ rows[50]).item(),
        "order.similarity.turn": 2 * math.pi / rates(64, 100.0)[-1],
        "order.similarity.far": far,
        "order.similarity.again": again,
        "order.similarity.cosine": curve[again],
    }


def added(reference: Reference, sentence: str) -> Values:
    ids = reference.ids(sentence)
    words, places = reference.embedded(ids), sinusoidal(len(ids), reference.width)
    alike = torch.cosine_similarity(words, places)
    size = sum(one.numel() for one in reference.model.encoder[0].parameters() if one.dim() == 2)
    found: Values = {
        "order.add.mean": alike.mean().item(),
        "order.add.chance": reference.width**-0.5,
        "order.add.weights": size,
        "order.add.doubled": 4 * size,
    }
    for i in range(len(ids)):
        found[f"order.add.{i}.embedding"] = words[i].norm().item()
        found[f"order.add.{i}.position"] = places[i].norm().item()
        found[f"order.add.{i}.cosine"] = alike[i].item()
    return found


def broken(reference: Reference, sentence: str) -> list[str]:
    """The translations of the whole model and of the changed ones."""
    other = sinusoidal(256, reference.width, base=20.0)
    changes = (Intervention(no_positions=True), Intervention(shift=20))
    inspect = reference.translator.inspect
    bag, later = (inspect(sentence, intervention=one, beam=1).changed.target.text for one in changes)
    return [
        reference.translated(sentence),
        bag,
        reference.translated(sentence, target=torch.zeros_like(other)),
        later,
        reference.translated(sentence, other, other),
    ]


def common(a: Sequence[str], b: Sequence[str]) -> int:
    """The length of the longest common subsequence."""
    lengths = [0] * (len(b) + 1)
    for one in a:
        row = [0]
        for j, other in enumerate(b):
            row.append(lengths[j] + 1 if one == other else max(row[j], lengths[j + 1]))
        lengths = row
    return lengths[-1]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("order")


def test_every_live_number_is_pytorchs(browser: Any, folder: Path) -> None:
    reference = Reference()
    with opened(browser, folder) as page:
        for sentence in SENTENCES:
            chapter(page, "order", sentence)
            shown = live(page, "order")
            texts = broken(reference, sentence)
            for i, text in enumerate(texts):
                gone = shown.pop(f"order.break.{i}.gone").split()
                assert len(gone) == len(texts[0].split()) - common(texts[0].split(), text.split())
                assert common(gone, texts[0].split()) == len(gone)
            computed = {f"order.break.{i}.text": text for i, text in enumerate(texts)}
            computed |= shuffled(reference, sentence) | numbered(reference, sentence)
            assert_equal(shown, computed | sines() | added(reference, sentence), "order.")


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

        bags = []
        for name in ("Peter loves Anna.", "Anna loves Peter."):
            page.get_by_role("button", name=name).click()
            page.locator(f'body[data-ready="{name}"]').wait_for()
            bags.append(live(page, "order")["order.break.1.text"])
        assert bags[0] == bags[1]
