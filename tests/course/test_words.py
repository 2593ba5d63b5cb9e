"""Chapter 1: every live number, computed again with PyTorch and NumPy, in float64."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from sentencepiece import SentencePieceProcessor

from dragoman import Translator
from dragoman.course import MODEL
from tests.course.reading import assert_equal, chapter, each_input, live, opened

Numbers = dict[str, float | str]


class Reference:
    """The model and its vocabulary."""

    def __init__(self) -> None:
        bundle = Translator.load(MODEL, engine="pytorch").bundle
        self.model, self.tokenizer = bundle.model.double().eval(), bundle.tokenizer
        self.W: NDArray[Any] = self.model.logits.weight.detach().numpy()
        self.pieces = self.tokenizer.target_pieces(range(len(self.W)))
        self.end, self.start = self.model.config.end_id, self.model.config.start_id

    @contextmanager
    def times(self, factor: float) -> Iterator[None]:
        """Embeddings times `factor`, and not times sqrt(d)."""
        width = self.W.shape[1]
        hook = self.model.source_embedding.register_forward_hook(lambda *a: a[-1] * factor / width**0.5)
        yield
        hook.remove()

    @torch.no_grad()
    def states(self, source: list[int], target: list[int]) -> NDArray[Any]:
        """What the output matrix is multiplied with: [targets + 1, width]."""
        ids = torch.tensor([[*source, self.end]])
        memory = self.model.encode(ids, torch.tensor([ids.shape[1]]))
        return self.model.decode_states(torch.tensor([[self.start, *target]]), memory)[0].numpy()

    def loss(self, source: list[int], target: list[int]) -> float:
        logits = self.states(source, target) @ self.W.T
        logps = logits - np.log(np.exp(logits).sum(1, keepdims=True))
        return -float(logps[range(len(logps)), [*target, self.end]].mean())

    def greedy(self, source: list[int], most: int) -> tuple[list[int], bool]:
        """The ids, and whether they were cut at `most`."""
        target: list[int] = []
        while len(target) < most:
            if (best := int((self.states(source, target)[-1] @ self.W.T).argmax())) == self.end:
                return target, False
            target.append(best)
        return target, True

    def near(self, id: int) -> Numbers:
        cosines = self.W @ self.W[id] / np.linalg.norm(self.W, axis=1) / np.linalg.norm(self.W[id])
        found: Numbers = {"words.near.token": self.pieces[id]}
        for i, other in enumerate(np.argsort(-cosines)[1:9]):
            found |= {f"words.near.{i}": self.pieces[other], f"words.near.{i}.cosine": cosines[other]}
        return found


def joints(word: str) -> list[list[str]]:
    """Byte-pair encoding by the scores of SentencePiece: from letters to tokens."""
    spm = SentencePieceProcessor(model_file=str(MODEL / "tokenizer.spm"))
    states = [list(f"▁{word}")]
    while True:
        parts = states[-1]
        pairs = [(spm.piece_to_id(a + b), i) for i, (a, b) in enumerate(pairwise(parts))]
        known = [(spm.get_score(id), -i) for id, i in pairs if id != spm.unk_id()]
        if not known:
            return states
        at = -max(known)[1]
        states.append([*parts[:at], parts[at] + parts[at + 1], *parts[at + 2 :]])


def cosine(a: NDArray[Any], b: NDArray[Any]) -> float:
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def on_the_map(reference: Reference, ids: list[int]) -> Numbers:
    points = reference.W[ids] - reference.W[ids].mean(0)
    _, sizes, axes = np.linalg.svd(points, full_matrices=False)
    axes = np.array([axis * np.sign(axis[np.abs(axis).argmax()]) for axis in axes[:2]])
    places = points @ axes.T
    nearest = []
    for vectors in (places, points):
        apart = np.linalg.norm(vectors[:, None] - vectors[None], axis=2) + np.diag([np.inf] * len(ids))
        nearest.append(apart.argmin(1))
    found: Numbers = {
        "words.share": (sizes[:2] ** 2).sum() / (sizes**2).sum(),
        "words.other": int((nearest[0] != nearest[1]).sum()),
        "words.of": len(ids),
    }
    for i, (x, y) in enumerate(places):
        found |= {f"words.map.{i}.x": x, f"words.map.{i}.y": y}
        for name, closest in zip(("here", "there"), nearest, strict=True):
            found[f"words.map.{i}.{name}"] = reference.pieces[ids[closest[i]]]
    return found


def numbers(reference: Reference, sentence: str) -> Numbers:
    W, pieces = reference.W, reference.pieces
    vocabulary, width = W.shape
    source = reference.tokenizer.encode_source([sentence])[0]
    ids = [*source, reference.end]
    target, _ = reference.greedy(source, len(source) + 20)
    chosen = ids[min(2, len(ids) - 1)]
    found: Numbers = {
        "words.letters": sum(map(str.isalpha, sentence)),
        "words.count": len(ids),
        "words.ids": " ".join(map(str, ids)),
        "words.size": vocabulary,
        "words.found": vocabulary,
        "words.zeros": vocabulary - 1,
        "words.products": W.size,
        "words.norm": float(np.linalg.norm(W[chosen])),
        "words.one": W.size,
        "words.three": 3 * W.size,
    }
    for i, id in enumerate(ids):
        pair = np.arange(width) // 2 * 2
        angles = i / 10000 ** (pair / width)
        position = np.where(np.arange(width) % 2, np.cos(angles), np.sin(angles))
        found |= {f"words.piece.{i}": pieces[id], f"words.id.{i}": id}
        found[f"words.position.{i}"] = float(np.linalg.norm(position))
        for name, row in (("short", W[id]), ("long", W[id] * width**0.5)):
            found[f"words.{name}.{i}"] = float(np.linalg.norm(row))
            found[f"words.{name}.{i}.cosine"] = cosine(row + position, row)
    for step, parts in enumerate(joints("gardening")):
        found |= {f"words.cut.{step}.{i}": part for i, part in enumerate(parts)}
    for r in range(5):
        found[f"words.onehot.{r}.0"] = float(r == 2)
        found |= {f"words.row.{r}.{c}": W[chosen - 2 + r, c] for c in range(8)}
    found |= {f"words.embedding.0.{c}": W[chosen, c] for c in range(8)}
    found |= reference.near(chosen) | on_the_map(reference, list(dict.fromkeys([*ids, *target])))
    state = reference.states(source, target)[0]
    logits = W @ state
    found["words.state"] = float(np.linalg.norm(state))
    for i, id in enumerate(np.argsort(-logits)[:6]):
        found |= {
            f"words.logit.{i}": pieces[id],
            f"words.logit.{i}.length": float(np.linalg.norm(W[id])),
            f"words.logit.{i}.cosine": cosine(W[id], state),
            f"words.logit.{i}.product": logits[id],
            f"words.logit.{i}.model": logits[id],
            f"words.logit.{i}.p": np.exp(logits[id]) / np.exp(logits).sum(),
        }
    found["words.whole.loss"] = reference.loss(source, target)
    found["words.whole.text"] = reference.tokenizer.decode(target)
    with reference.times(1):
        found["words.break.loss"] = reference.loss(source, target)
        changed, cut = reference.greedy(source, len(target) + 10)
    found["words.break.text"] = reference.tokenizer.decode(changed) + " …" * cut
    return found


@each_input
def test_every_live_number_is_pythons(
    browser: Any, tmp_path_factory: pytest.TempPathFactory, sentences: tuple[str, ...]
) -> None:
    reference = Reference()
    with opened(browser, tmp_path_factory.mktemp("words")) as page:
        for sentence in sentences:
            chapter(page, "words", sentence)
            assert_equal(live(page, "words"), numbers(reference, sentence), "words.")
        page.locator("#words [data-widget='words.near'] input").fill("green")
        page.locator("#words button.token", has_text="▁red").press("Enter")
        page.locator("#words [data-widget='words.near'] input").fill("")  # an empty field asks for nothing
        assert_equal(live(page, "words"), reference.near(reference.pieces.index("▁red")), "words.near.")
        page.locator("#words [data-widget='words.vocabulary'] input").fill(" un")
        count = sum("▁un" in piece for piece in reference.pieces)
        assert live(page, "words")["words.found"] == str(count)
        page.locator("#words [data-widget='words.factor'] input").fill("8")  # the place of the trained factor
        page.locator("[data-live='words.break.text']", has_text=page.inner_text("#translation")).wait_for()
        shown = live(page, "words")
        assert shown["words.break.loss"] == shown["words.whole.loss"]
        for sentence in ("a", "<b> \\ של 🙂"):
            chapter(page, "words", sentence)
            assert "NaN" not in page.inner_text("#words")


def test_what_the_text_says_of_this_model() -> None:
    reference = Reference()
    assert "▁gardening" not in reference.pieces
    near_red = list(reference.near(reference.pieces.index("▁red")).values())
    assert {"▁green", "▁black", "▁blue", "▁white"} <= set(near_red)
    assert not {"▁rot", "rot"} & set(near_red)
