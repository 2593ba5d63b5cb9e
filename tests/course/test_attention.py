"""The live numbers of the chapter on attention, by PyTorch, NumPy and the equations of the paper."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from torch import Tensor

from dragoman.course import model_folder
from dragoman.course.texts import labels
from dragoman.inspection.inspect import inspect
from dragoman.translation.translator import Translator
from tests.course.reading import SENTENCES, assert_equal, chapter, live, opened

Array = np.ndarray[Any, np.dtype[Any]]
Found = dict[str, float | str]
SAY = {key.removeprefix("attention."): text for key, text in labels("en").items()}
STACKS = ("encoder", "decoder", "cross")
HEADS = [(stack, layer, head) for stack in STACKS for layer in range(2) for head in range(4)]
# In the order in which the model computes them
PLACES = [("encoder", 0), ("encoder", 1), ("decoder", 0), ("cross", 0), ("decoder", 1), ("cross", 1)]


def softmax(x: Array) -> Array:
    e: Array = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def entropy(weights: Array) -> float:
    """The mean over all axes but the last."""
    return float(-(weights * np.log(np.where(weights > 0, weights, 1))).sum(-1).mean())


class Reference:
    """The model in PyTorch, in float64, with the attention of this file."""

    def __init__(self) -> None:
        self.bundle = Translator.load(model_folder(), engine="pytorch").bundle
        self.model, self.tokenizer = self.bundle.model.double().eval(), self.bundle.tokenizer
        self.start, self.end = self.tokenizer.start_id, self.tokenizer.end_id
        self.inputs: dict[str, Array] = {}
        for name, module in self.model.named_modules():
            module.register_forward_pre_hook(partial(self._keep, name))

    def _keep(self, name: str, _: Any, arguments: tuple[Tensor, ...]) -> None:
        self.inputs[name] = arguments[0][0].numpy() if name.endswith("attention") else None

    @torch.no_grad()
    def run(self, source: list[int], target: list[int], **changes: Any) -> tuple[Array, dict[Any, Any]]:
        """(log-probabilities, what attention has by stack and layer), with the changes of the page."""
        seen: dict[Any, Any] = {}
        places = iter(PLACES)

        def attend(q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None, drop: float) -> Tensor:
            stack, layer = next(places)
            logits = q @ k.mT / (1 if "unscaled" in changes else math.sqrt(q.shape[-1]))
            if stack == "decoder" and "no_mask" not in changes:
                logits = torch.where(torch.ones_like(logits).tril() > 0, logits, -math.inf)
            weights = logits.softmax(-1)
            where, place, row = changes.get("weights", ("", 0, []))
            if where == stack and place < weights.shape[2]:
                row = [*row, *[0.0] * weights.shape[3]][: weights.shape[3]]
                weights[:, :, place] = torch.tensor(row)
            kept = [(stack, layer, head) not in changes.get("without", ()) for head in range(4)]
            arrays = {"q": q, "k": k, "v": v, "logits": logits, "weights": weights}
            seen[stack, layer] = {name: x[0].numpy().copy() for name, x in arrays.items()}
            return weights @ v * torch.tensor(kept)[:, None, None]

        ids = torch.tensor([[*source, self.end]])
        with patch("dragoman.models.transformer.attend", attend):
            logits = self.model(ids, torch.tensor([ids.shape[1]]), torch.tensor([[self.start, *target]]))
        return logits[0].log_softmax(-1).numpy(), seen

    def decode(self, source: list[int], most: int, **changes: Any) -> list[int]:
        ids: list[int] = []
        while len(ids) < most and (best := int(self.run(source, ids, **changes)[0][-1].argmax())) != self.end:
            ids.append(best)
        return ids


def random_products(width: int) -> Array:
    """Box and Muller's normal numbers from a linear congruential generator."""
    x, draws = 1, []
    for _ in range(2 * 208 * width):
        x = (1664525 * x + 1013904223) % 2**32
        draws.append((x + 0.5) / 2**32)
    first, second = np.array(draws).reshape(-1, 2).T
    normal = np.sqrt(-2 * np.log(first)) * np.cos(2 * np.pi * second)
    keys, queries = np.split(normal.reshape(208, width), [8])
    out: Array = queries @ keys.T
    return out


def grid(key: str, rows: Any) -> Found:
    """The cells of a matrix that are not hidden."""
    return {f"{key}.{r}.{c}": x for r, row in enumerate(rows) for c, x in enumerate(row) if x > -math.inf}


def looks(w: Array) -> dict[str, float]:
    """The mean weight of five places."""
    places = (w.diagonal(-1), w.diagonal(), w.diagonal(1), w[:, 0], w[:, -1])
    return dict(
        zip(
            ("previous", "same", "following", "first", "last"), (float(x.mean()) for x in places), strict=True
        )
    )


def numbers(reference: Reference, sentence: str, *, changed: bool) -> Found:
    """All live numbers of the chapter, as it opens, or with what `choose` presses."""
    tokenizer, found = reference.tokenizer, Found()
    (source,) = tokenizer.encode_source([sentence])
    target = reference.decode(source, len(source) + 20)
    logps, plain = reference.run(source, target)
    right = range(len(target) + 1), [*target, reference.end]
    own = tokenizer.decode(target), -float(logps[right].mean())
    stack, layer, head, query, cell = ("decoder", 1, 2, 1, 5) if changed else ("encoder", 0, 0, 1, 0)
    x = reference.inputs[f"{stack}.{layer}.attention"][query]

    def change(key: str, **changes: Any) -> Any:
        new, seen = reference.run(source, target, **changes)
        ids = target
        if "no_mask" in changes or not (new.argmax(-1) == right[1]).all():  # it translates in another way
            ids = reference.decode(source, len(target) + 20, **changes)
        after = tokenizer.decode(ids), -float(new[right].mean())
        if key:
            for when, of in (("before", own), ("after", after)):
                found[f"attention.{key}.{when}"], found[f"attention.{key}.{when}.loss"] = of
        return new, seen, after

    one, seen_keys = plain[stack, layer], query + 1 if stack == "decoder" else None
    w = reference.model.state_dict()[f"{stack}.{layer}.attention.project.weight"][16 * head + cell].numpy()
    q, k, v = one["q"][head, query], one["k"][head, :seen_keys], one["v"][head, :seen_keys]
    weights = softmax(k @ q / 4)
    for b in range(4):
        found |= grid(f"attention.dot.{b}", np.stack((x, w, x * w))[:, 16 * b : 16 * b + 16])
    found |= grid("attention.q", [q]) | {"attention.cell": float(x @ w)}
    found |= grid("attention.k", k) | grid("attention.v", [*v, weights @ v])
    for key, column in (("product", k @ q), ("score", k @ q / 4), ("weight", weights), ("times", weights)):
        found |= grid(f"attention.{key}", column[:, None])

    width = 128 if changed else 16
    first = []
    for kind, divisor in (("unscaled", 1.0), ("scaled", math.sqrt(width))):
        scores = random_products(width) / divisor
        first.append(softmax(scores)[0])
        measures = {"variance": scores.var(), "greatest": softmax(scores).max(-1).mean()}
        for key, value in (measures | {"entropy": entropy(softmax(scores))}).items():
            found[f"attention.random.{kind}.{key}"] = float(value)
    found |= grid("attention.random.weights", first)

    for kind, of in (("scaled", plain), ("unscaled", change("unscaled", unscaled=True)[1])):
        for stack in STACKS:
            both = np.stack([of[stack, layer]["weights"] for layer in range(2)])
            found[f"attention.model.{stack}.{kind}.entropy"] = entropy(both)
            found[f"attention.model.{stack}.{kind}.greatest"] = float(both.max(-1).mean())

    found["attention.off.none"] = own[1]
    for stack, layer, head in HEADS:
        weights, name = plain[stack, layer]["weights"][head], f"{stack}.{layer + 1}.{head + 1}"
        places = looks(weights)
        most = max(places, key=lambda key: places[key])
        found[f"attention.pattern.{name}"], found[f"attention.share.{name}"] = SAY[most], places[most]
        if name == ("cross.2.4" if changed else "encoder.2.2"):
            places["entropy"] = entropy(weights)
            found |= {f"attention.look.{key}": value for key, value in places.items()}
        if changed:
            text, found[f"attention.off.{name}"] = change("", without=[(stack, layer, head)])[2]
            found |= {f"attention.off.{name}.text": text} if text != own[0] else {}

    stack, layer, head, query = ("decoder", 1, 1, 1) if changed else ("encoder", 0, 0, 1)
    terms: Any = inspect(reference.bundle, sentence, target=own[0]).terms
    rows = next(one.values for one in terms.stacks if one.kind == stack)[layer, :, head, query].astype(float)
    logits = plain[stack, layer]["logits"][head, query]
    hidden = np.where(logits > -math.inf, 0, -math.inf)
    found |= grid("attention.term", [*(rows + hidden), rows.sum(0) + hidden, logits])

    (short,) = tokenizer.encode_source(["She sleeps."])
    found |= grid("attention.padded", reference.run(short, [])[1]["encoder", 0]["weights"][0])
    masked = plain["decoder", 0]["logits"][0]
    found |= grid("attention.mask_on.logits", masked)
    found |= grid("attention.mask_on.weights", np.where(masked > -math.inf, softmax(masked), -math.inf))
    found |= grid(
        "attention.mask_off.weights", change("mask_off", no_mask=True)[1]["decoder", 0]["weights"][0]
    )

    stack, query = ("decoder", 2) if changed else ("cross", 2)
    row = np.concatenate([plain[stack, layer]["weights"][:, query] for layer in range(2)]).mean(0)
    row = np.eye(len(row))[1] if changed else row
    found |= {f"attention.attend.{k}": x for k, x in enumerate(row[: query + 1 if changed else None])}
    new = change("attend", **({"weights": (stack, query, list(row))} if changed else {}))[0]
    for when, of in (("before", logps), ("after", new)):
        for i, best in enumerate(np.argsort(-of[query])[:3]):
            (piece,) = tokenizer.target_pieces([int(best)])
            found[f"attention.next.{when}.{i}"] = piece.removeprefix("▁") or piece
            found[f"attention.next.{when}.{i}.p"] = math.exp(of[query, best])
    change("switches", **({"without": [(stack, 1, 0) for stack in STACKS]} if changed else {}))
    return found


def choose(page: Any) -> None:
    """Press one thing or another in each widget."""

    def press(widget: str, name: str, group: str | None = None) -> None:
        within = page.locator(f"[data-widget='attention.{widget}']")
        within = within.get_by_role("group", name=SAY[group], exact=True) if group else within
        within.get_by_role("button", name=name, exact=True).first.click()

    for group, name in (("stack", SAY["decoder"]), ("layer", "2"), ("head", "3")):
        press("head", name, group)
        press("terms", name if group != "head" else "2", group)
    for label, value in (("dimension", "5"), ("width", "7")):
        page.get_by_role("slider", name=SAY[label], exact=True).fill(value)
    press("maps", SAY["head_name"].format(stack=SAY["cross"], layer=2, head=4))
    press("every", SAY["compute"])
    press("attend", SAY["decoder"], "stack")
    page.locator("[data-widget='attention.attend']").get_by_role("button", name=SAY["only"]).nth(1).click()
    for stack in STACKS:
        press("switches", SAY["head_name"].format(stack=SAY[stack], layer=2, head=1))
    page.locator("body:not(:has([aria-busy]))").wait_for()


def test_every_live_number(browser: Any, tmp_path: Path) -> None:
    reference = Reference()
    with opened(browser, tmp_path) as page:
        for sentence in SENTENCES:
            chapter(page, "attention", sentence)
            assert_equal(live(page, "attention"), numbers(reference, sentence, changed=False), "attention.")
        choose(page)
        assert_equal(live(page, "attention"), numbers(reference, SENTENCES[-1], changed=True), "attention.")
        for sentence in ("?", "مرحبا 🙂"):
            chapter(page, "attention", sentence)
