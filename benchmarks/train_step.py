"""How fast a training step is, where its floor is, and what the fast pieces save.

    python benchmarks/train_step.py [--preset tiny] [--precision fp32 bf16] [--threads 2] [--steps 20]

Prints medians over the steps: target tokens a second, the arithmetic a token needs and the share of
the machine's own matrix-product rate that it reaches, both measured in this run. Then the
time of PyTorch's dropout beside ours, and of the plain loss beside the blockwise one, on the shapes
of one step. The batches are made of random ids with the lengths of the embedded corpus.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor
from torch.func import functional_call

from dragoman import native
from dragoman.models.dropout import dropout
from dragoman.models.seq2seq import build_model
from dragoman.models.shapes import TransformerConfig
from dragoman.runs.recipe import resolve
from dragoman.training.batches import Batch, collate, plan
from dragoman.training.loss import LinearCrossEntropy, Objective, smoothed_cross_entropy
from dragoman.training.malloc import keep_freed_memory
from dragoman.training.precision import working_copies

VOCAB = 8000


def main() -> None:
    options = parse()
    keep_freed_memory()
    torch.set_num_threads(options.threads)
    if options.native:
        print("loops in C" if native.enable() else "no loops in C")
    recipe = resolve(preset=options.preset)
    config = replace(recipe.model, source_vocab=VOCAB, target_vocab=VOCAB)
    batches = make_batches(options.batch_tokens, options.steps)
    print(
        f"preset {options.preset}, {options.threads} threads, torch {torch.__version__}, vocabulary {VOCAB}"
    )
    print(f"about {statistics.median(b.tokens for b in batches):.0f} target tokens a step\n")
    for precision in options.precision:
        rate = matrix_rate(config.d_model, config.d_ff, precision)
        seconds = step_times(config, batches, precision)
        tokens = statistics.median(b.tokens / s for b, s in zip(batches, seconds, strict=True))
        work = sum(operations(config, b) for b in batches) / sum(b.tokens for b in batches)
        print(
            f"{precision}: {tokens:8,.0f} tokens/s   {tokens * work / 1e9:6.0f} GFLOP/s of"
            f" {rate / 1e9:6.0f} in a plain product ({tokens * work / rate:.0%})"
        )
    print()
    compare_dropout(config.d_model)
    compare_loss(config.d_model, options.precision)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--preset", default="tiny")
    parser.add_argument("--precision", nargs="+", default=["fp32", "bf16"])
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--batch-tokens", type=int, default=4096)
    parser.add_argument("--native", action="store_true", help="with the loops in C")
    parser.add_argument("--steps", type=int, default=20)
    return parser.parse_args()


def make_batches(batch_tokens: int, count: int) -> list[Batch]:
    """Batches of random ids whose lengths spread as those of short sentences do."""
    rng = np.random.default_rng(1)
    target_len = np.clip(rng.lognormal(2.7, 0.35, 40_000), 3, 60).astype(int)
    source_len = np.clip(target_len * rng.normal(1, 0.12, 40_000), 3, 60).astype(int)
    groups = plan(source_len, target_len, batch_tokens=batch_tokens, seed=1, epoch=0)[:count]
    ids = lambda lengths: [rng.integers(4, VOCAB, length) for length in lengths]  # noqa: E731
    return [collate(ids(source_len[g]), ids(target_len[g]), pad_id=0, start_id=1, end_id=2) for g in groups]


def step_times(config: TransformerConfig, batches: list[Batch], precision: str) -> list[float]:
    """Seconds of each step, after one round to warm up."""
    torch.manual_seed(1)
    model = build_model(config)
    objective = Objective(model, 0.1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

    def step(batch: Batch) -> None:
        if precision == "bf16":
            loss, _ = functional_call(objective, working_copies(objective), (batch,))
        else:
            loss, _ = objective(batch)
        (loss / batch.tokens).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()

    for batch in batches[:3]:
        step(batch)
    return [timed(lambda: step(batch)) for batch in batches]  # noqa: B023


def operations(config: TransformerConfig, batch: Batch) -> float:
    """Floating-point operations of a step: 2 a weight and token forward, twice that backward."""
    s, t = int(batch.source_len_B.sum()), batch.tokens
    e, f = config.d_model, config.d_ff
    encoder = config.encoder_layers * (4 * e * e + 2 * e * f) * s
    decoder = config.decoder_layers * ((6 * e * e + 2 * e * f) * t + 2 * e * e * s)
    return 6 * (encoder + decoder + e * VOCAB * t)


def matrix_rate(width: int, inner: int, precision: str) -> float:
    """Operations a second of the feed-forward product, best of several runs."""
    dtype = torch.bfloat16 if precision == "bf16" else torch.float32
    x, w = torch.randn(4096, width, dtype=dtype), torch.randn(inner, width, dtype=dtype)
    return 2 * 4096 * width * inner / min(timed(lambda: x @ w.T) for _ in range(50))


def compare_dropout(width: int) -> None:
    x = torch.randn(4096, width)
    theirs = median(lambda: torch.nn.functional.dropout(x, 0.1))
    ours = median(lambda: dropout(x, 0.1))
    print(
        f"dropout on 4096 x {width}: torch {theirs * 1e3:.2f} ms, ours {ours * 1e3:.2f} ms"
        f" ({theirs / ours:.1f} x)"
    )


def compare_loss(width: int, precisions: list[str]) -> None:
    for precision in precisions:
        dtype = torch.bfloat16 if precision == "bf16" else torch.float32
        states = torch.randn(4096, width, dtype=dtype, requires_grad=True)
        weight = torch.randn(VOCAB, width, requires_grad=True)
        target = torch.randint(4, VOCAB, (4096,))

        def plain(states: Tensor = states, weight: Tensor = weight, target: Tensor = target) -> None:
            logits = (states @ weight.to(states.dtype).T).float()
            smoothed_cross_entropy(logits, target, 0.1)[0].backward()

        def blockwise(states: Tensor = states, weight: Tensor = weight, target: Tensor = target) -> None:
            LinearCrossEntropy.apply(states, weight, None, target, 0.1)[0].backward()

        whole, blocks = median(plain, 7), median(blockwise, 7)
        print(
            f"loss and its gradients, {precision}: plain {whole * 1e3:.0f} ms,"
            f" blockwise {blocks * 1e3:.0f} ms ({whole / blocks:.1f} x)"
        )


def timed(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def median(run: Callable[[], object], times: int = 15) -> float:
    run()
    return statistics.median(timed(run) for _ in range(times))


if __name__ == "__main__":
    main()
