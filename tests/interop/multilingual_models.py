"""Small multilingual models in Hugging Face's layout, of random weights: M2M-100, NLLB-200 and mBART-50.

The files are those of the repositories on the hub: a SentencePiece model, what the tokenizer's class reads
beside it, and the weights that transformers saves. tokenizer.json of NLLB has the languages after the pieces,
then <mask>, as the original one.
"""

from __future__ import annotations

import io
import json
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args

import sentencepiece
import torch

from dragoman.text.toy.corpus import pairs

Kind = Literal["m2m", "nllb", "mbart"]
KINDS: tuple[Kind, ...] = get_args(Kind)
LANGUAGES = {"m2m": ("de", "en", "fr"), "nllb": ("deu_Latn", "eng_Latn", "fra_Latn"),
             "mbart": ("de_DE", "en_XX", "fr_XX")}  # fmt: skip
CLASSES = {"m2m": "M2M100", "nllb": "M2M100", "mbart": "MBart"}
TOKENIZERS = {"m2m": "M2M100Tokenizer", "nllb": "NllbTokenizer", "mbart": "MBart50Tokenizer"}
MADE_UP = 8


@cache
def spm(kind: Kind) -> bytes:
    """A SentencePiece model of the embedded corpus that normalises text."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([line for pair in pairs(seed=3, count=400) for line in pair]),
        model_writer=model,
        model_type="bpe" if kind == "nllb" else "unigram",
        vocab_size=220,
        hard_vocab_limit=False,
        normalization_rule_name="nmt_nfkc",
        minloglevel=2,
    )
    return model.getvalue()


def save(folder: Path, kind: Kind, **options: Any) -> Path:
    """Write a whole repository, and return the folder."""
    import transformers

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "sentencepiece.bpe.model").write_bytes(spm(kind))
    processor = sentencepiece.SentencePieceProcessor(model_proto=spm(kind))
    pieces = ["<s>", "<pad>", "</s>", "<unk>", *processor.id_to_piece(list(range(3, len(processor))))]
    config: dict[str, Any] = {"tokenizer_class": TOKENIZERS[kind], "src_lang": LANGUAGES[kind][1]}
    if kind == "m2m":
        (folder / "vocab.json").write_text(json.dumps({piece: i for i, piece in enumerate(pieces)}))
        size = len(pieces) + 100 + MADE_UP
    elif kind == "nllb":
        _write_nllb(folder, len(pieces))
        size = len(pieces) + len(LANGUAGES[kind]) + 3  # <mask> and two spare embeddings
    else:
        codes = transformers.models.mbart50.tokenization_mbart50.FAIRSEQ_LANGUAGE_CODES
        size = len(pieces) + len(codes) + 1
        (folder / "special_tokens_map.json").write_text(json.dumps({"additional_special_tokens": codes}))
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    _model(kind, len(pieces), size, **options).save_pretrained(folder)
    return folder


def tokenizer_of(folder: Path, kind: Kind) -> Any:
    """The tokenizer of transformers."""
    import transformers

    return getattr(transformers, TOKENIZERS[kind]).from_pretrained(folder)


def _write_nllb(folder: Path, first: int) -> None:
    import transformers

    (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "NllbTokenizer"}')
    transformers.NllbTokenizer.from_pretrained(folder).backend_tokenizer.save(str(folder / "tokenizer.json"))
    table = json.loads((folder / "tokenizer.json").read_text())
    form = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False) | {"special": True}
    table["added_tokens"] = [token for token in table["added_tokens"] if token["id"] < 4]
    tokens = (*LANGUAGES["nllb"], "<mask>")
    table["added_tokens"] += [{"id": i, "content": token, **form} for i, token in enumerate(tokens, first)]
    (folder / "tokenizer.json").write_text(json.dumps(table))
    (folder / "special_tokens_map.json").write_text(
        json.dumps({"additional_special_tokens": LANGUAGES["nllb"]})
    )


def _model(kind: Kind, first: int, size: int, *, seed: int = 2, **options: Any) -> Any:
    """A model whose translations vary and end. The ids from `first` on are no text."""
    import transformers

    config = getattr(transformers, f"{CLASSES[kind]}Config")(
        **{
            "vocab_size": size,
            "d_model": 32,
            "encoder_layers": 2,
            "decoder_layers": 2,
            "encoder_attention_heads": 4,
            "decoder_attention_heads": 4,
            "encoder_ffn_dim": 48,
            "decoder_ffn_dim": 48,
            "max_position_embeddings": 1024 if kind == "mbart" else 64,
            "scale_embedding": True,
            "decoder_start_token_id": 2,
            **options,
        }
    )
    torch.manual_seed(seed)
    model = getattr(transformers, f"{CLASSES[kind]}ForConditionalGeneration")(config).eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "norm" in name:
                weight.add_(0.1 * torch.randn_like(weight))
            else:
                weight.normal_(std=0.3 if "attn" in name or "bias" in name else 0.8 if ".fc" in name else 0.2)
        # Random weights say one token for ever. Take away what they would say anyway, and end now and then.
        norm, embedding = model.model.decoder.layer_norm, model.model.shared.weight
        norm.weight.mul_(2)
        source_BS, target_BT = torch.randint(4, first, (2, 50, 8))
        states = model.model(input_ids=source_BS, decoder_input_ids=target_BT).last_hidden_state
        norm.bias.sub_(states.mean((0, 1)))
        # One direction is for the ends, and against tokens that are no text.
        direction = torch.nn.functional.normalize(torch.randn(32), dim=0)
        embedding.sub_((embedding @ direction)[:, None] * direction)
        embedding[[0, 1, 3, *range(first, size)]] -= 2 * direction
        embedding[2] += {"m2m": 0.3, "nllb": 0.2, "mbart": 0.25}[kind] * direction
        norm.bias.add_(8 * direction)
        embedding[1] = -2 * direction
        if kind == "mbart":
            model.final_logits_bias[:, 4:first].normal_(std=0.5)
    model.generation_config.update(num_beams=4, max_length=200, early_stopping=True)
    return model
