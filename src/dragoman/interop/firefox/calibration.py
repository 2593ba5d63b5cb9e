"""The range of the inputs of each matrix, from translating text: multipliers that an 8-bit file states.

Marian's tools take 127 / (mean + 1.1 standard deviations) of the greatest absolute input of each product
(browsermt/marian-dev, scripts/alphas/extract_stats.py). So do we: larger inputs are clipped.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean, pstdev
from typing import Any, cast

from torch import Tensor, nn

from dragoman.interop.marian.shape import Config, name_table
from dragoman.models.folder.bundle import Bundle
from dragoman.models.layers.linear import Blocks
from dragoman.models.search.engine import PyTorchEngine
from dragoman.translation.folder.quantised import GREATEST
from dragoman.translation.search.engine import Request

_DEVIATIONS = 1.1


def input_multipliers(bundle: Bundle, lines: Sequence[str]) -> dict[str, float]:
    """Return the multiplier of the inputs of each matrix, by Marian's names. Translates `lines` with PyTorch.

    A matrix of which they used nothing has none.
    """
    config = cast(Config, bundle.model.config)  # `unsupported` refuses other models
    greatest: dict[tuple[str, int], list[float]] = defaultdict(list)

    def watch(name: str, module: nn.Module) -> Any:
        def hook(_: nn.Module, args: tuple[Any, ...]) -> None:
            x: Tensor = args[0]
            first, last = (*args[1:], 0, None)[:2] if isinstance(module, Blocks) else (0, 1)
            for block in range(first, len(module.sizes) if last is None else last):  # type: ignore[arg-type]
                greatest[name, block].append(float(x.abs().amax()))

        return module.register_forward_pre_hook(hook)

    modules = cast(nn.Module, bundle.model).named_modules()
    hooks = [watch(name, one) for name, one in modules if isinstance(one, nn.Linear)]
    try:
        requests = [
            Request(
                source=source,
                how=replace(bundle.generation, size=1, n_best=1),
                max_tokens=2 * len(source) + 10,
            )
            for source in bundle.tokenizer.encode_source(list(lines))
        ]
        deque(PyTorchEngine(bundle.model).search(requests), maxlen=0)
    finally:
        for hook in hooks:
            hook.remove()
    found = {}
    for row in name_table(config).rows:
        module = row.ours.removesuffix(".weight")
        for block, theirs in enumerate(row.theirs):
            if values := greatest.get(("logits" if module == "target_embedding" else module, block)):
                found[theirs] = GREATEST / max(fmean(values) + _DEVIATIONS * pstdev(values), 1e-6)
    return found
