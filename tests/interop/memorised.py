"""Small models with weights that matter: random ones, and ones that know a few pairs by heart."""

from __future__ import annotations

from typing import Any

import torch

from dragoman.models.folder.bundle import Bundle
from dragoman.models.search.engine import pad
from dragoman.models.seq2seq import build_model
from dragoman.models.shapes import TransformerConfig
from dragoman.text.tokenizers.tokenizer import Tokenizer, TokenizerConfig
from dragoman.translation.search.options import Beam

PAIRS = [
    ("The moon is pale tonight.", "Der Mond ist heute Nacht bleich."),
    ("Old stones tell no lies.", "Alte Steine lügen nicht."),
    ("She reads by the window.", "Sie liest am Fenster."),
    ("Two birds sleep in the tree.", "Zwei Vögel schlafen im Baum."),
    ("Who ate the last plum?", "Wer hat die letzte Pflaume gegessen?"),
    ("It rains, and nobody minds.", "Es regnet, und niemanden stört es."),
    ("My brother sells warm bread.", "Mein Bruder verkauft warmes Brot."),
    ("The train leaves at nine.", "Der Zug fährt um neun."),
    ("Yes!", "Ja!"),
    ("We built this house ourselves.", "Dieses Haus haben wir selbst gebaut."),
]
SOURCES = [source for source, _ in PAIRS]
SMALL = {"d_model": 16, "d_ff": 24, "heads": 2, "encoder_layers": 2, "decoder_layers": 1}


def tokenizer(**options: Any) -> Tokenizer:
    """A tokenizer of the pairs: subwords without bytes, one vocabulary."""
    defaults = {"kind": "bpe", "vocab_size": 120, "byte_fallback": False}
    return Tokenizer.train(PAIRS, TokenizerConfig(**(defaults | options)))


def random_bundle(cutter: Tokenizer, *, seed: int = 0, beam: Beam | None = None, **shape: Any) -> Bundle:
    """A model with random weights in every place, so that a forgotten one shows."""
    torch.manual_seed(seed)
    sizes = {"source_vocab": cutter.source_size, "target_vocab": cutter.target_size}
    model = build_model(TransformerConfig(**(SMALL | sizes | shape))).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight += 0.1 * torch.randn_like(weight)
    return Bundle(
        model=model,
        tokenizer=cutter,
        source_language="en",
        target_language="de",
        generation=beam or Beam(),
    )


def memorised(bundle: Bundle, *, updates: int = 100, rate: float = 0.02) -> Bundle:
    """The bundle, trained until it knows the pairs by heart, most of them."""
    model: Any = bundle.model.train()
    config, cutter = model.config, bundle.tokenizer
    source_BS, source_len_B = pad(cutter.encode_source(SOURCES), config.pad_id, config.end_id)
    targets = cutter.encode_target([target for _, target in PAIRS])
    given_BT, _ = pad([[config.start_id, *ids] for ids in targets], config.pad_id, config.pad_id)
    wanted_BT, _ = pad(targets, config.pad_id, config.end_id)
    weights = list(model.parameters())
    moments = [(torch.zeros_like(weight), torch.zeros_like(weight)) for weight in weights]
    for _ in range(updates):
        logits_BTV = model(source_BS, source_len_B, given_BT[:, :-1])
        loss = torch.nn.functional.cross_entropy(
            logits_BTV.flatten(0, 1), wanted_BT.flatten(), ignore_index=config.pad_id
        )
        with torch.no_grad():  # Adam; torch.optim takes seconds to load
            grads = torch.autograd.grad(loss, weights)
            for weight, grad, (mean, square) in zip(weights, grads, moments, strict=True):
                mean.lerp_(grad, 0.1)
                square.lerp_(grad.square(), 0.05)
                weight -= rate * mean / (square.sqrt() + 1e-8)
    model.eval()
    return bundle
