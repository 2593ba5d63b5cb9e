"""Small models in Hugging Face's layout, of random weights: what MarianMTModel and MarianTokenizer save.

The files are those of an OPUS-MT model: two SentencePiece models that normalise text and one vocab.json with
</s> first, <unk> second, the languages of a multilingual model and <pad> last. With two vocabularies, <pad>
is third.
"""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import sentencepiece
import torch

SENTENCES = {
    "en": """A man rides a red bike along the river. Two dogs run through the deep snow. The girl reads
        an old book in the garden. Children play football on the beach. A woman buys bread at the market.
        The musician sings a slow song for his friends. An old boat lies near the stone bridge. Why does
        the young chef cut onions with a spoon? He is 27 years old, "really" old! They don't like rain;
        it's cold: the wind blows (hard).""",
    "de": """Ein Mann fährt auf einem roten Rad den Fluss entlang. Zwei Hunde laufen durch den tiefen
        Schnee. Das Mädchen liest im Garten ein altes Buch. Kinder spielen am Strand Fußball. Eine Frau
        kauft auf dem Markt Brot. Der Musiker singt für seine Freunde ein langsames Lied. Ein altes Boot
        liegt an der steinernen Brücke. Warum schneidet der junge Koch Zwiebeln mit einem Löffel? Er ist
        27 Jahre alt, „wirklich“ alt! Sie mögen keinen Regen; es ist kalt: der Wind weht (stark).""",
}
LANGUAGES = ("deu", "fra", "por_BR")


def spm(language: str, vocab_size: int = 90, **options: Any) -> bytes:
    """A SentencePiece model that normalises text, as those of OPUS-MT."""
    model = io.BytesIO()
    text = SENTENCES[language]
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([" ".join(each.split()) for each in text.split(". ")] * 3),
        model_writer=model,
        vocab_size=vocab_size,
        hard_vocab_limit=False,
        normalization_rule_name="nmt_nfkc",
        minloglevel=2,
        **options,
    )
    return model.getvalue()


def pieces(model: bytes) -> list[str]:
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    return [processor.id_to_piece(i) for i in range(len(processor)) if not processor.is_control(i)]


def vocabulary(*models: bytes, languages: tuple[str, ...] = (), pad_last: bool = True) -> dict[str, int]:
    """The pieces of all the models, each once, between the special tokens of OPUS-MT."""
    words = [piece for model in models for piece in pieces(model)]
    words += [f">>{each}<<" for each in languages]
    tokens = ["</s>", "<unk>", *words, "<pad>"] if pad_last else ["</s>", "<unk>", "<pad>", *words]
    return {piece: i for i, piece in enumerate(dict.fromkeys(tokens))}


def model_of(
    sizes: tuple[int, int], pad: int, *, seed: int = 2, loudness: float = 3.0, **options: Any
) -> Any:
    """A MarianMTModel whose translations vary and end."""
    import transformers

    config = transformers.MarianConfig(
        **{
            "vocab_size": sizes[0],
            "decoder_vocab_size": sizes[1],
            "share_encoder_decoder_embeddings": sizes[0] == sizes[1],
            "d_model": 32,
            "encoder_layers": 2,
            "decoder_layers": 3,
            "encoder_attention_heads": 4,
            "decoder_attention_heads": 4,
            "encoder_ffn_dim": 48,
            "decoder_ffn_dim": 48,
            "activation_function": "swish",
            "scale_embedding": True,
            "max_position_embeddings": 256,
            "pad_token_id": pad,
            "decoder_start_token_id": pad,
            "eos_token_id": 0,
            "forced_eos_token_id": 0,
            **options,
        }
    )
    torch.manual_seed(seed)
    model = transformers.MarianMTModel(config).eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "layer_norm" in name:
                weight.add_(0.1 * torch.randn_like(weight))
            elif "positions" not in name:
                quiet = "attn" in name or "bias" in name
                weight.normal_(std=0.1 if quiet else 0.8 if ".fc" in name else 0.3)
        # Random weights say one token for ever. Take away what they would say anyway, and end now and then.
        model.model.decoder.layers[-1].final_layer_norm.weight.mul_(loudness)
        source_BS = torch.randint(3, min(sizes) - 1, (50, 8))
        target_BT = torch.randint(3, sizes[1] - 1, (50, 8))
        always_V = model(input_ids=source_BS, decoder_input_ids=target_BT).logits.mean((0, 1))
        model.final_logits_bias.copy_(-always_V + torch.randn(sizes[1]))
        model.final_logits_bias[:, 0] += 4.0
        for embedding in (model.model.encoder.embed_tokens, model.model.decoder.embed_tokens):
            embedding.weight[pad] = 0.0
    model.generation_config.update(
        num_beams=4, bad_words_ids=[[pad]], max_length=128, renormalize_logits=True, length_penalty=1.0
    )
    return model


def save(
    folder: Path,
    *,
    separate: bool = False,
    languages: tuple[str, ...] = (),
    extra: int = 0,
    **options: Any,
) -> Path:
    """Write a whole repository, and return the folder. `extra` embeddings have no piece."""
    folder.mkdir(parents=True, exist_ok=True)
    sides = [spm("en"), spm("de", 110)]
    if separate:
        words = [vocabulary(side, pad_last=False) for side in sides]
    else:
        words = [vocabulary(*sides, languages=languages)]
    for name, data in zip(("source.spm", "target.spm"), sides, strict=True):
        (folder / name).write_bytes(data)
    for name, table in zip(("vocab.json", "target_vocab.json"), words, strict=False):
        (folder / name).write_text(json.dumps(table, ensure_ascii=False))
    config = {"source_lang": "en", "target_lang": "de", "separate_vocabs": separate}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    sizes = (len(words[0]) + extra, len(words[-1]) + extra)
    model = model_of(sizes, words[-1]["<pad>"], **options)
    model.save_pretrained(folder)
    return folder


def edit(path: Path, **changes: Any) -> None:
    """Change keys of a JSON file; None removes one."""
    table = json.loads(path.read_text())
    table = {key: value for key, value in {**table, **changes}.items() if value is not None}
    path.write_text(json.dumps(table))
