"""The live numbers of the chapter on attention, by PyTorch, NumPy and the equations of the paper."""

from __future__ import annotations

import math
from itertools import product
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import torch
from torch import Tensor

from dragoman.course import MODEL, recorded_runs
from dragoman.course.texts import labels
from dragoman.inspection.inspect import inspect
from dragoman.translation.translator import Translator
from tests.course.reading import assert_equal, chapter, each_input, live, opened

Array = np.ndarray[Any, np.dtype[Any]]
Found = dict[str, float | str]
SAY = {key.removeprefix("attention."): text for key, text in labels("en").items()}
STACKS = ("encoder", "decoder", "cross")
CALLS = [("encoder", 0), ("encoder", 1), ("decoder", 0), ("cross", 0), ("decoder", 1), ("cross", 1)]


def softmax(x: Array) -> Array:
    return np.array(np.exp(x) / np.exp(x).sum(-1, keepdims=True))


def entropy(weights: Array) -> float:  # the mean over all axes but the last
    return float(-(weights * np.log(np.where(weights > 0, weights, 1))).sum(-1).mean())


class Reference:
    """The model in PyTorch, in float64, with the attention of this file."""

    def __init__(self) -> None:
        self.bundle = Translator.load(MODEL, engine="pytorch").bundle
        self.tokenizer, self.end = self.bundle.tokenizer, self.bundle.tokenizer.end_id
        model: Any = self.bundle.model
        self.model, self.inputs = model.double().eval(), dict[str, Any]()
        for name, one in model.named_modules():
            one.register_forward_pre_hook(lambda _, x, name=name: self.inputs.update({name: x[0]}))

    @torch.no_grad()
    def run(self, source: list[int], target: list[int], **changes: Any) -> tuple[Array, dict[Any, Any]]:
        """(log-probabilities, what attention has by stack and layer), with the changes of the page."""
        seen, calls = dict[Any, Any](), iter(CALLS)

        def attend(q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None, drop: float) -> Tensor:
            stack, layer = next(calls)
            logits = q @ k.mT / (1 if "unscaled" in changes else math.sqrt(q.shape[-1]))
            if stack == "decoder" and "no_mask" not in changes:
                logits = torch.where(torch.ones_like(logits).tril() > 0, logits, -math.inf)
            weights = logits.softmax(-1)
            where, place, row = changes.get("weights", ("", 0, []))
            if where == stack and place < weights.shape[2]:
                weights[:, :, place] = torch.tensor([*row, *[0.0] * k.shape[2]][: k.shape[2]])
            kept = [(stack, layer, head) not in changes.get("without", ()) for head in range(4)]
            of = {"q": q, "k": k, "v": v, "logits": logits, "weights": weights}
            seen[stack, layer] = {name: x[0].numpy() for name, x in of.items()}
            return weights @ v * torch.tensor(kept)[:, None, None]

        ids = torch.tensor([[*source, self.end]])
        with patch("dragoman.models.transformer.attend", attend):
            logits = self.model(
                ids, torch.tensor([ids.shape[1]]), torch.tensor([[self.tokenizer.start_id, *target]])
            )
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
    return np.array(queries @ keys.T)


def grid(key: str, rows: Any) -> Found:
    """The cells of a matrix that are not hidden."""
    return {f"{key}.{r}.{c}": x for r, row in enumerate(rows) for c, x in enumerate(row) if x > -math.inf}


def looks(w: Array) -> dict[str, float]:
    """The mean weight of five places."""
    places = {"previous": w.diagonal(-1), "same": w.diagonal(), "following": w.diagonal(1), "first": w[:, 0]}
    return {name: float(x.mean()) for name, x in (places | {"last": w[:, -1]}).items()}


def numbers(reference: Reference, sentence: str, *, changed: bool) -> Found:
    """All live numbers of the chapter, as it opens, or with what `choose` presses."""
    tokenizer, found = reference.tokenizer, Found()
    (source,) = tokenizer.encode_source([sentence])
    target = reference.decode(source, len(source) + 20)
    logps, plain = reference.run(source, target)
    right = range(len(target) + 1), [*target, reference.end]
    own = tokenizer.decode(target), -float(logps[right].mean())
    stack, layer, head, query, cell = ("decoder", 1, 2, 1, 5) if changed else ("encoder", 0, 0, 1, 0)
    x = reference.inputs[f"{stack}.{layer}.attention"][0, query].numpy()

    def change(key: str, **changes: Any) -> Any:
        new, seen = reference.run(source, target, **changes)
        same = "no_mask" not in changes and (new.argmax(-1) == right[1]).all()
        ids = target if same else reference.decode(source, len(target) + 20, **changes)
        after = tokenizer.decode(ids), -float(new[right].mean())
        if key:
            for when, of in (("before", own), ("after", after)):
                found[f"{key}.{when}"], found[f"{key}.{when}.loss"] = of
        return new, seen, after

    w = reference.model.state_dict()[f"{stack}.{layer}.attention.project.weight"][16 * head + cell].numpy()
    q, (k, v) = plain[stack, layer]["q"][head, query], (plain[stack, layer][key][head] for key in "kv")
    k, v = (k[: query + 1], v[: query + 1]) if changed else (k, v)
    weights = softmax(k @ q / 4)
    for b in range(4):
        found |= grid(f"dot.{b}", np.stack((x, w, x * w))[:, 16 * b : 16 * b + 16])
    found |= grid("q", [q]) | {"cell": float(x @ w)}
    found |= grid("k", k) | grid("v", [*v, weights @ v])
    for key, column in (("product", k @ q), ("score", k @ q / 4), ("weight", weights), ("times", weights)):
        found |= grid(f"{key}", column[:, None])
    width = 128 if changed else 16
    for i, (kind, divisor) in enumerate((("unscaled", 1.0), ("scaled", math.sqrt(width)))):
        scores = random_products(width) / divisor
        random = softmax(scores)
        found |= {f"random.weights.{i}.{k}": x for k, x in enumerate(random[0])}
        found |= {f"random.{kind}.variance": float(scores.var()), f"random.{kind}.entropy": entropy(random)}
        found[f"random.{kind}.greatest"] = float(random.max(-1).mean())
    for kind, of in (("scaled", plain), ("unscaled", change("unscaled", unscaled=True)[1])):
        for stack in STACKS:
            both = np.stack([of[stack, layer]["weights"] for layer in range(2)])
            found[f"model.{stack}.{kind}.entropy"] = entropy(both)
            found[f"model.{stack}.{kind}.greatest"] = float(both.max(-1).mean())
    found["off.none"] = own[1]
    for stack, layer, head in product(STACKS, range(2), range(4)):
        weights, name = plain[stack, layer]["weights"][head], f"{stack}.{layer + 1}.{head + 1}"
        places = looks(weights)
        most = max(places, key=lambda key: places[key])
        found[f"pattern.{name}"], found[f"share.{name}"] = SAY[most], places[most]
        if name == ("cross.2.4" if changed else "encoder.2.2"):
            places["entropy"] = entropy(weights)
            found |= {f"look.{key}": value for key, value in places.items()}
        if changed:
            text, found[f"off.{name}"] = change("", without=[(stack, layer, head)])[2]
            found |= {f"off.{name}.text": text} if text != own[0] else {}
    stack, layer, head, query = ("decoder", 1, 1, 1) if changed else ("encoder", 0, 0, 1)
    terms: Any = inspect(reference.bundle, sentence, target=own[0]).terms
    rows = next(one.values for one in terms.stacks if one.kind == stack)[layer, :, head, query].astype(float)
    logits = plain[stack, layer]["logits"][head, query]
    hidden = np.where(logits > -math.inf, 0, -math.inf)
    found |= grid("term", [*(rows + hidden), rows.sum(0) + hidden, logits])
    short = min(source, *tokenizer.encode_source(["She sleeps."]), key=len)
    found |= grid("padded", reference.run(short, [])[1]["encoder", 0]["weights"][0])
    masked = plain["decoder", 0]["logits"][0]
    found |= grid("mask_on.logits", masked)
    found |= grid("mask_on.weights", np.where(masked > -math.inf, softmax(masked), -math.inf))
    found |= grid("mask_off.weights", change("mask_off", no_mask=True)[1]["decoder", 0]["weights"][0])
    stack, query = "decoder" if changed else "cross", 2
    row = np.concatenate([plain[stack, layer]["weights"][:, query] for layer in range(2)]).mean(0)
    row = np.eye(len(row))[1] if changed else row
    found |= {f"attend.{k}": x for k, x in enumerate(row[: query + 1 if changed else None])}
    new = change("attend", **({"weights": (stack, query, list(row))} if changed else {}))[0]
    for when, of in (("before", logps), ("after", new)):
        for i, best in enumerate(np.argsort(-of[query])[:3]):
            (piece,) = tokenizer.target_pieces([int(best)])
            found[f"next.{when}.{i}"] = piece.removeprefix("▁") or piece
            found[f"next.{when}.{i}.p"] = math.exp(of[query, best])
    change("switches", **({"without": [("encoder", 1, 0), ("cross", 1, 0)]} if changed else {}))
    return {f"attention.{key}": value for key, value in found.items()}


def choose(page: Any) -> None:
    """Press buttons of each widget by their number, and move its sliders."""
    pressed = "head.1 head.4 head.7 terms.1 terms.3 terms.5 maps.23 every.0 attend.1 switches.4 switches.20"
    for widget, place in (one.split(".") for one in pressed.split()):
        page.locator(f"[data-widget='attention.{widget}'] button").nth(int(place)).dispatch_event("click")
    page.get_by_role("button", name=SAY["only"]).nth(1).dispatch_event("click")
    for label, value in (("dimension", "5"), ("width", "7")):
        page.get_by_role("slider", name=SAY[label], exact=True).fill(value)
    page.locator("body:not(:has([aria-busy]))").wait_for()


@each_input
def test_every_live_number(
    browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sentences: tuple[str, ...]
) -> None:
    reference = Reference()
    losses = {f"{stack}.{layer}.{head}": 1.0 for stack, layer, head in product(STACKS, (1, 2), (1, 2, 3, 4))}
    heads = {"heads": {"pairs": 1, "loss": 1.0, "without": losses}}
    monkeypatch.setattr("dragoman.course.page.recorded_runs", lambda: recorded_runs() | heads)
    with opened(browser, tmp_path) as page:
        for sentence in sentences:
            chapter(page, "attention", sentence)
            assert_equal(live(page, "attention"), numbers(reference, sentence, changed=False), "attention.")
        choose(page)
        assert_equal(live(page, "attention"), numbers(reference, sentences[-1], changed=True), "attention.")
        for sentence in ("?", "مرحبا 🙂"):
            chapter(page, "attention", sentence)
