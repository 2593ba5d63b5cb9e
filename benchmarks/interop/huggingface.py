"""Models of Hugging Face's MarianMTModel: how they are trained and saved, and how they translate."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from material import Hypothesis, Limit, Size, Text, sentencepiece_model
from torch import Tensor, nn

LANGUAGES = {"cs": "ces", "de": "deu", "en": "eng", "fr": "fra"}  # ISO 639-3, as OPUS-MT's tags


@dataclass(frozen=True, kw_only=True)
class Case:
    """Shape of a model, and how OPUS-MT's conventions hold for it."""

    activation: str
    multilingual: bool = False
    two_vocabularies: bool = False
    scale_embedding: bool = True
    safetensors: bool = True
    generation: dict[str, Any] | None = None


CASES = {
    "hf-opus": Case(activation="swish", generation={"renormalize_logits": True}),
    "hf-multilingual": Case(activation="swish", multilingual=True),
    # Sizes differ, so padding cannot be last in both vocabularies: it has id 2.
    "hf-two-vocabularies": Case(activation="relu", two_vocabularies=True),
    "hf-gelu-bin": Case(
        activation="gelu", scale_embedding=False, safetensors=False, generation={"length_penalty": 0.6}
    ),
}


def train(name: str, folder: Path, text: Text, size: Size, limit: Limit) -> None:
    """Train the case `name` into `folder`, with train.log."""
    case = CASES[name]
    folder.mkdir(parents=True)
    torch.manual_seed(1)
    torch.set_num_threads(1)
    pairs = pairs_of(case, text)
    tokenizer = make_tokenizer(case, folder, pairs, size)
    model = make_model(case, tokenizer, size)
    sources = tokenizer([source for source, _ in pairs]).input_ids
    targets = tokenizer(text_target=[target for _, target in pairs]).input_ids
    fit(model, list(zip(sources, targets, strict=True)), size, limit, folder / "train.log")
    save(case, model, tokenizer, folder, size)


def pairs_of(case: Case, text: Text) -> list[tuple[str, str]]:
    """Return source and target: of the first target language, or of all, with a tag before the source."""
    if not case.multilingual:
        return list(zip(text.source, text.target, strict=True))
    return [
        (f">>{LANGUAGES.get(code, code)}<< {source}", target)
        for code, targets in text.targets.items()
        for source, target in zip(text.source, targets, strict=True)
    ]


def make_tokenizer(case: Case, folder: Path, pairs: list[tuple[str, str]], size: Size) -> Any:
    """Train a SentencePiece model a side. Number the pieces by frequency, as OPUS-MT does."""
    from transformers import MarianTokenizer

    counts = []
    for side, name in enumerate(("source", "target")):
        lines = [pair[side] for pair in pairs]
        tags = [line.partition(" ")[0] for line in lines] if case.multilingual and side == 0 else []
        plain = [line.partition(" ")[2] for line in lines] if tags else lines
        smaller = case.two_vocabularies and side == 1
        vocabulary = size.vocabulary * 2 // 3 if smaller else size.vocabulary
        processor = sentencepiece_model(plain, folder / f"{name}.spm", size, vocabulary)
        counts.append(Counter(piece for line in processor.encode(plain, out_type=str) for piece in line))
        counts[-1].update(tags)
    if case.two_vocabularies:
        for count, name in zip(counts, ("vocab.json", "target_vocab.json"), strict=True):
            write_vocabulary(["</s>", "<unk>", "<pad>", *by_frequency(count)], folder / name)
    else:
        write_vocabulary(
            ["</s>", "<unk>", *by_frequency(counts[0] + counts[1]), "<pad>"], folder / "vocab.json"
        )
    return MarianTokenizer(
        source_spm=str(folder / "source.spm"),
        target_spm=str(folder / "target.spm"),
        vocab=str(folder / "vocab.json"),
        target_vocab_file=str(folder / "target_vocab.json") if case.two_vocabularies else None,
        separate_vocabs=case.two_vocabularies,
        source_lang="eng",
        target_lang="mul" if case.multilingual else "deu",
    )


def by_frequency(counts: Counter[str]) -> list[str]:
    return [piece for piece, _ in counts.most_common() if piece not in ("</s>", "<unk>", "<pad>")]


def write_vocabulary(pieces: list[str], path: Path) -> None:
    content = json.dumps({piece: i for i, piece in enumerate(pieces)}, ensure_ascii=False, indent=1)
    path.write_text(content, encoding="utf-8")


def make_model(case: Case, tokenizer: Any, size: Size) -> Any:
    """Return a fresh model. The bias of the logits, a buffer in this class, becomes trainable."""
    from transformers import MarianConfig, MarianMTModel

    pad = tokenizer.pad_token_id
    config = MarianConfig(
        vocab_size=len(tokenizer.encoder),
        decoder_vocab_size=len(tokenizer.target_encoder if case.two_vocabularies else tokenizer.encoder),
        d_model=size.d_model,
        encoder_layers=size.layers,
        decoder_layers=size.layers,
        encoder_attention_heads=size.heads,
        decoder_attention_heads=size.heads,
        encoder_ffn_dim=size.d_ff,
        decoder_ffn_dim=size.d_ff,
        activation_function=case.activation,
        scale_embedding=case.scale_embedding,
        max_position_embeddings=size.longest,
        init_std=size.d_model**-0.5,
        dropout=0.1,
        pad_token_id=pad,
        decoder_start_token_id=pad,
        eos_token_id=tokenizer.eos_token_id,
        bos_token_id=tokenizer.eos_token_id,
        forced_eos_token_id=tokenizer.eos_token_id,
        share_encoder_decoder_embeddings=not case.two_vocabularies,
        tie_word_embeddings=not case.two_vocabularies,
    )
    model = MarianMTModel(config)
    model.final_logits_bias = nn.Parameter(model.final_logits_bias)
    return model


def fit(model: Any, pairs: list[tuple[list[int], list[int]]], size: Size, limit: Limit, log: Path) -> None:
    """Adam with a linear warm-up and a linear decay to zero at the end of `limit`; label smoothing 0.1."""
    optimizer = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9, fused=True)
    start, update, losses = time.perf_counter(), 0, []
    model.train()
    with log.open("w", encoding="utf-8") as file:
        for batch in batches(pairs, size.batch_words):
            minutes = (time.perf_counter() - start) / 60
            progress = update / limit.updates if limit.updates else minutes / limit.minutes
            if progress >= 1:
                break
            update += 1
            for group in optimizer.param_groups:
                group["lr"] = size.learning_rate * min(update / size.warm_up, 1 - progress)
            loss = batch_loss(model, batch)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
            losses.append(loss.item())
            if update % 50 == 0:
                print(
                    f"update {update} loss {sum(losses) / len(losses):.3f} minutes {minutes:.2f}",
                    file=file,
                    flush=True,
                )
                losses.clear()
    model.eval()


def batch_loss(model: Any, batch: list[tuple[list[int], list[int]]]) -> Tensor:
    """Mean cross-entropy over target tokens. Padding takes no part where it is the last id, as in Marian."""
    pad = model.config.pad_token_id
    source_BS, target_BT = (padded([pair[side] for pair in batch], pad) for side in (0, 1))
    start_B1 = torch.full((len(batch), 1), model.config.decoder_start_token_id)
    logits_BTV = model(
        input_ids=source_BS,
        attention_mask=(source_BS != pad).long(),
        decoder_input_ids=torch.cat((start_B1, target_BT[:, :-1]), dim=1),
    ).logits
    if pad == logits_BTV.shape[-1] - 1 and model.config.scale_embedding:
        logits_BTV = logits_BTV[..., :-1]
    return nn.functional.cross_entropy(
        logits_BTV.flatten(0, 1), target_BT.flatten(), ignore_index=pad, label_smoothing=0.1
    )


def padded(rows: list[list[int]], pad: int) -> Tensor:
    longest = max(map(len, rows))
    return torch.tensor([row + [pad] * (longest - len(row)) for row in rows])


def batches(pairs: list[Any], words: int) -> Iterator[list[Any]]:
    """Yield batches of sentences of similar length, about `words` target tokens each, without end."""
    generator = torch.Generator().manual_seed(1)
    while True:
        order = torch.randperm(len(pairs), generator=generator).tolist()
        made = []
        for chunk in (order[i : i + 3000] for i in range(0, len(order), 3000)):
            batch, total = [], 0
            for i in sorted(chunk, key=lambda i: len(pairs[i][1])):
                if total + len(pairs[i][1]) > words and batch:
                    made.append(batch)
                    batch, total = [], 0
                batch.append(pairs[i])
                total += len(pairs[i][1])
            made.append(batch)
        for i in torch.randperm(len(made), generator=generator).tolist():
            yield made[i]


def save(case: Case, model: Any, tokenizer: Any, folder: Path, size: Size) -> None:
    from transformers import GenerationConfig
    from transformers.utils import logging

    logging.disable_progress_bar()
    pad, end = tokenizer.pad_token_id, tokenizer.eos_token_id
    banned = {} if case.two_vocabularies or not case.safetensors else {"bad_words_ids": [[pad]]}
    model.generation_config = GenerationConfig(
        pad_token_id=pad,
        decoder_start_token_id=pad,
        eos_token_id=end,
        bos_token_id=end,
        forced_eos_token_id=end,
        max_length=size.longest,
        num_beams=4,
        **banned,
        **(case.generation or {}),
    )
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    if not case.safetensors:  # the older format, with every name of tied weights and the positions
        (folder / "model.safetensors").unlink()
        torch.save(model.state_dict(), folder / "pytorch_model.bin")


def load(folder: Path) -> tuple[Any, Any]:
    """Return the model, ready for inference, and its tokenizer."""
    from transformers import MarianMTModel, MarianTokenizer

    return MarianMTModel.from_pretrained(folder).eval(), MarianTokenizer.from_pretrained(folder)


@torch.no_grad()
def translate(
    model: Any, tokenizer: Any, lines: list[str], *, beam: int, batch: int = 1
) -> list[list[Hypothesis]]:
    """Return `beam` translations a line, best first, by the model's own generation settings."""
    order = sorted(range(len(lines)), key=lambda i: len(lines[i]))
    answers: dict[int, list[Hypothesis]] = {}
    for chunk in (order[i : i + batch] for i in range(0, len(order), batch)):
        inputs = tokenizer([lines[i] for i in chunk], return_tensors="pt", padding=True)
        output = model.generate(
            **inputs,
            num_beams=beam,
            num_return_sequences=beam,
            do_sample=False,
            return_dict_in_generate=True,
            output_scores=True,
            output_logits=beam == 1,
        )
        words = token_scores(model, output)
        for row, i in enumerate(chunk):
            rows = range(row * beam, (row + 1) * beam)
            answers[i] = [hypothesis(model, tokenizer, output, words[each], each) for each in rows]
    return [answers[i] for i in range(len(lines))]


def token_scores(model: Any, output: Any) -> list[list[float]]:
    """Return the log-probability of each token of each sequence, which may be longer than the sequence."""
    if "beam_indices" in output:
        source_vocab = model.config.vocab_size  # transformers takes it for the size of the scores
        model.config.vocab_size = model.config.decoder_vocab_size
        try:
            scores_NT = model.compute_transition_scores(output.sequences, output.scores, output.beam_indices)
        finally:
            model.config.vocab_size = source_vocab
        return scores_NT.tolist()
    # Of greedy search, `scores` have banned ids masked; renormalised they are what a beam search uses.
    steps = output.scores if model.generation_config.renormalize_logits else output.logits
    logp = [
        step.log_softmax(-1).gather(1, ids[:, None])[:, 0]
        for step, ids in zip(steps, output.sequences[:, 1:].T, strict=True)
    ]
    return torch.stack(logp, dim=1).tolist()


def hypothesis(model: Any, tokenizer: Any, output: Any, words: list[float], row: int) -> Hypothesis:
    ids = output.sequences[row].tolist()[1:]  # without the start
    end = model.config.eos_token_id
    ids = ids[: ids.index(end) + 1] if end in ids else ids
    words = words[: len(ids)]
    beams = "beam_indices" in output  # generate returns no score of greedy search
    return Hypothesis(
        tokens=[tokenizer.decoder[i] for i in ids],
        text=tokenizer.decode(ids, skip_special_tokens=True),
        score=output.sequences_scores[row].item() if beams else sum(words),
        word_scores=words,
    )


@torch.no_grad()
def logits(model: Any, source: list[int], target: list[int]) -> Tensor:
    """Return what the model says at each position of `target`, teacher-forced: (T, V)."""
    start = [model.config.decoder_start_token_id, *target[:-1]]
    return model(input_ids=torch.tensor([source]), decoder_input_ids=torch.tensor([start])).logits[0]
