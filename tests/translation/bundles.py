"""Small models with real tokenizers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import torch

from dragoman.models.folder.bundle import Bundle
from dragoman.models.search.engine import pad
from dragoman.models.shapes import TransformerConfig
from dragoman.models.transformer import Transformer
from dragoman.text.tokenizers.tokenizer import Tokenizer, TokenizerConfig

PAIRS = [
    ("The cat sleeps on the warm stove.", "Die Katze schläft auf dem warmen Ofen."),
    ("A baker sells fresh bread.", "Ein Bäcker verkauft frisches Brot."),
    ("Two boats wait in the harbour.", "Zwei Boote warten im Hafen."),
    ("The baker waits for the cat.", "Der Bäcker wartet auf die Katze."),
]


def learnt_bundle(*, reverse: bool = False, updates: int = 60) -> Bundle:
    """A model that knows the sentences of `PAIRS` by heart, or their translations back."""
    languages = ("de", "en") if reverse else ("en", "de")
    learn(bundle := bundle_of("bpe", width=32), reverse=reverse, updates=updates)
    return replace(bundle, source_language=languages[0], target_language=languages[1])


def learn(
    bundle: Bundle,
    *,
    reverse: bool = False,
    updates: int = 60,
    address: str = "",
    start: tuple[int, ...] = (),
) -> None:
    """Train a model on the sentences of `PAIRS`, behind marks if it reads some."""
    pairs = [pair[::-1] if reverse else pair for pair in PAIRS]
    tokenizer, model = bundle.tokenizer, bundle.model
    sources = tokenizer.encode_source([address + source for source, _ in pairs])
    targets = [[*start, *ids] for ids in tokenizer.encode_target([target for _, target in pairs])]
    source_BS, source_len_B = pad(sources, model.config.pad_id, model.config.end_id)
    predict_BT, _ = pad(targets, model.config.pad_id, model.config.end_id)
    start_B1 = torch.full((len(pairs), 1), model.config.start_id)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(updates):
        states = model.decode(
            torch.cat([start_B1, predict_BT[:, :-1]], 1), model.encode(source_BS, source_len_B)
        )
        loss = torch.nn.functional.cross_entropy(
            states.flatten(0, 1), predict_BT.flatten(), ignore_index=model.config.pad_id
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


TRAINED = (("de", "en"), ("en", "de"), ("en", "fr"), ("fr", "en"))


def several_bundle(kind: str = "bpe", **options: Any) -> Bundle:
    """A model of German, English and French without training, or of all pairs of other `languages`.

    Options are those of the tokenizer.
    """
    options = {"languages": ("de", "en", "fr"), "source_mark": True, **options}
    bundle = bundle_of(kind, **options)
    trained = TRAINED if options["languages"] == ("de", "en", "fr") else ()
    return replace(bundle, source_language="mul", target_language="mul", directions=trained)


def bundle_of(kind: str, *, width: int = 16, **options: Any) -> Bundle:
    pairs = [(source + " " + more, target) for source, target in PAIRS for more, _ in PAIRS]
    tokenizer = Tokenizer.train(pairs, TokenizerConfig(kind=cast(Any, kind), vocab_size=360, **options))
    torch.manual_seed(1)
    shape = TransformerConfig(
        source_vocab=tokenizer.source_size,
        target_vocab=tokenizer.target_size,
        d_model=width,
        d_ff=2 * width,
        heads=2,
        encoder_layers=1,
        decoder_layers=1,
    )
    return Bundle(
        model=Transformer(shape).eval(), tokenizer=tokenizer, source_language="en", target_language="de"
    )
