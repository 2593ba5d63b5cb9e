"""Chapter 4: every live number, computed again with PyTorch."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from dragoman import Translator
from dragoman.course import MODEL
from tests.course.reading import assert_equal, chapter, each_input, live, opened

LAYERS = {
    "encoder": ("attention", "feed_forward"),
    "decoder": ("attention", "cross_attention", "feed_forward"),
}


class Reference:
    """The model in PyTorch, in float64, with the outputs of its modules."""

    def __init__(self) -> None:
        bundle = Translator.load(MODEL, engine="pytorch").bundle
        self.model, self.tokenizer = bundle.model.double().eval(), bundle.tokenizer
        self.end, self.start = self.model.config.end_id, self.model.config.start_id
        self.seen: dict[str, Tensor] = {}
        for name, module in self.model.named_modules():
            module.register_forward_hook(lambda _module, _in, out, name=name: self._keep(name, out))

    def _keep(self, name: str, out: Any) -> None:
        self.seen[name] = out[0] if isinstance(out, tuple) else out

    @torch.no_grad()
    def logps(self, source: Sequence[int], target: Sequence[int]) -> Tensor:
        """[targets + 1, vocabulary]"""
        ids = torch.tensor([[*source, self.end]])
        logits = self.model(ids, torch.tensor([ids.shape[1]]), torch.tensor([[self.start, *target]]))
        return logits[0].log_softmax(-1)

    def spell(self, id: int) -> str:
        return self.tokenizer.target_pieces([id])[0]


def greedy(next_logps: Callable[[list[int]], Tensor], end: int, most: int) -> list[int]:
    ids: list[int] = []
    while len(ids) < most and (id := int(next_logps(ids).argmax())) != end:
        ids.append(id)
    return ids


def beam(
    next_logps: Callable[[list[int]], Tensor], end: int, size: int, most: int
) -> list[tuple[list[int], float]]:
    """Finished hypotheses. The `size` best that go on are kept; what ends among the best is finished."""
    alive, finished = [([], 0.0)], []
    for _ in range(most):
        new = []
        for ids, logp in alive:
            values, places = next_logps(ids).topk(2 * size)
            new += [([*ids, int(i)], logp + float(value)) for value, i in zip(values, places, strict=True)]
        new.sort(key=lambda one: -one[1])
        alive = []
        for rank, one in enumerate(new[: 2 * size]):
            if one[0][-1] == end:
                finished += [one] if rank < size or len(alive) < size else []
            elif len(alive) < size:
                alive.append(one)
        if len(finished) >= size or not alive:
            break
    return finished


def mulberry32(seed: int) -> Iterator[float]:
    """Tommy Ettinger's generator, 2017."""
    word = 0xFFFFFFFF
    while True:
        seed = (seed + 0x6D2B79F5) & word
        t = (seed ^ (seed >> 15)) * (1 | seed) & word
        t ^= (t + ((t ^ (t >> 7)) * (61 | t) & word)) & word
        yield ((t ^ (t >> 14)) & word) / 2**32


@contextmanager
def without_shortcut(model: nn.Module, name: str) -> Iterator[None]:
    """The sub-layer replaces its input: its output, normalised."""
    residual = model.get_submodule(f"{name}_residual")
    whole = residual.forward
    residual.forward = lambda x, sublayer: residual.norm(sublayer(x))  # type: ignore[method-assign, assignment]
    yield
    residual.forward = whole  # type: ignore[method-assign]


def numbers(reference: Reference, sentence: str) -> dict[str, float | str]:
    model, end, spell = reference.model, reference.end, reference.spell
    (source,) = reference.tokenizer.encode_source([sentence])
    most = len(source) + 20

    def following(ids: list[int]) -> Tensor:
        return reference.logps(source, ids)[-1]

    target = greedy(following, end, most)
    logps = reference.logps(source, target)
    seen = {name: value[0] for name, value in reference.seen.items() if value.dim() == 3}
    ids = torch.tensor([*source, end])
    found: dict[str, float | str] = {}

    root = math.sqrt(model.config.d_model)
    embedded = model.source_embedding.weight.detach()[ids] * root
    with torch.no_grad():
        placed = model.positions(embedded[None], 0, torch.tensor([len(ids)]))[0]
    stages = [embedded, placed]
    stages += [
        seen[f"encoder.{layer}.{part}_residual"]
        for layer in range(model.config.encoder_layers)
        for part in LAYERS["encoder"]
    ]
    place = min(1, len(ids) - 1)
    for i, stage in enumerate(stages):
        found[f"machine.walk.{i}.length"] = stage[place].norm().item()
        if i:
            found[f"machine.walk.{i}.cosine"] = torch.cosine_similarity(
                stages[i - 1][place], stage[place], 0
            ).item()

    out = seen["encoder.0.attention"][place]
    for i, x in enumerate(
        (placed[place], out, placed[place] + out, seen["encoder.0.attention_residual.norm"][place])
    ):
        found[f"machine.norm.{i}.mean"] = x.mean().item()
        found[f"machine.norm.{i}.deviation"] = x.std(correction=0).item()

    with torch.no_grad():
        hidden = model.encoder[0].feed_forward.inner(seen["encoder.0.attention_residual"]).relu()
    for i, row in enumerate(hidden):
        found[f"machine.hidden.{i}.piece"] = reference.tokenizer.source_pieces([int(ids[i])])[0]
        found[f"machine.hidden.{i}.active"] = float((row > 0).sum())
        found[f"machine.hidden.{i}.greatest"] = row.max().item()

    for i, id in enumerate([*target, end]):
        best = int(logps[i].argmax())
        found[f"machine.forcing.{i}.given"], found[f"machine.forcing.{i}.best"] = spell(id), spell(best)
        found[f"machine.forcing.{i}.p"] = logps[i, id].exp().item()
        found[f"machine.forcing.{i}.loss"] = -logps[i, id].item()
        found[f"machine.forcing.{i}.chance"] = logps[i, best].exp().item()
    found["machine.forcing.mean"] = -logps[range(len(target) + 1), [*target, end]].mean().item()

    found["machine.loss"] = math.log(2)
    size = model.config.target_vocab
    smooth = torch.full((size,), 0.1 / size, dtype=torch.float64)
    smooth[0] += 0.9
    found["machine.smoothing.right"], found["machine.smoothing.other"] = smooth[0].item(), smooth[1].item()
    found["machine.smoothing.lowest"] = torch.distributions.Categorical(smooth).entropy().item()
    found["machine.rate.peak"] = 1 / math.sqrt(512 * 4000)

    finished = beam(following, end, 3, most)
    ranked = sorted(finished, key=lambda one: -one[1] / ((5 + len(one[0])) / 6) ** 0.6)[:3]
    for i, (tokens, logp) in enumerate(ranked):
        found[f"machine.search.{i}.text"] = reference.tokenizer.decode(tokens[:-1])
        found[f"machine.search.{i}.logp"], found[f"machine.search.{i}.length"] = logp, len(tokens)
        found[f"machine.search.{i}.score"] = logp / ((5 + len(tokens)) / 6) ** 0.6

    draw = mulberry32(1)
    for i in range(5):
        tokens, logp = [], 0.0
        while len(tokens) < most:
            row = following(tokens)
            id = int((row.exp().cumsum(0) > next(draw)).nonzero()[0])
            logp += row[id].item()
            if id == end:
                break
            tokens.append(id)
        found[f"machine.sample.{i}.text"], found[f"machine.sample.{i}.logp"] = (
            reference.tokenizer.decode(tokens),
            logp,
        )

    names = [
        f"{side}.{layer}.{part}"
        for side in LAYERS
        for layer in range(getattr(model.config, f"{side}_layers"))
        for part in LAYERS[side]
    ]
    found["machine.break.0.loss"], found["machine.break.0.text"] = (
        found["machine.forcing.mean"],
        reference.tokenizer.decode(target),
    )
    for i, name in enumerate(names, start=1):
        with without_shortcut(model, name):
            changed = reference.logps(source, target)
            found[f"machine.break.{i}.loss"] = -changed[range(len(target) + 1), [*target, end]].mean().item()
            found[f"machine.break.{i}.text"] = reference.tokenizer.decode(greedy(following, end, most))
    return found


@each_input
def test_every_live_number_is_pytorchs(
    browser: Any, tmp_path_factory: pytest.TempPathFactory, sentences: tuple[str, ...]
) -> None:
    reference = Reference()
    with opened(browser, tmp_path_factory.mktemp("machine")) as page:
        for sentence in sentences:
            chapter(page, "machine", sentence)
            assert_equal(live(page, "machine"), numbers(reference, sentence), "machine.")
        given = page.locator("#machine [data-widget='machine.forcing']")
        given.locator("input").fill("猫" * 200)
        given.get_by_text("at most 200 tokens").wait_for()
        assert given.locator("[aria-busy]").count() == 0
