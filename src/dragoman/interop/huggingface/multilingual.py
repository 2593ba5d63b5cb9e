"""The tokenizers of M2M-100, NLLB-200 and mBART-50: one SentencePiece model, and a token for each language.

A source is the mark of its language, the text and </s>. A translation begins with the mark of the target
language, which the search is made to say. A mark is spelled `>>de<<` in our list of pieces, as in OPUS-MT;
it is `__de__` in M2M-100, `deu_Latn` in NLLB and `de_DE` in mBART. The ids are fairseq's:

- M2M-100 has a list of pieces, vocab.json. Its languages are not in it: they follow, in the order of a table
  that `language_codes` names. "Made-up words" fill the embeddings up, to a multiple of eight.
- NLLB and mBART-50 have no list. <s>, <pad>, </s> and <unk> have the ids 0 to 3. The pieces of the
  SentencePiece model follow from its fourth on, so their ids are one more than there; then the languages and
  <mask>. The first file decides which languages: tokenizer.json, tokenizer_config.json,
  special_tokens_map.json. The embeddings may be more than all these ids.

`legacy_behaviour` of NLLB, which puts the mark of the source after </s>, is refused, and so are folders
without the SentencePiece model, which transformers 5 no longer writes. It reads the name of a token in a
text, such as `</s>` or `deu_Latn`, as that token; here it is text. For NLLB and mBART it imitates
SentencePiece, which leaves out a space at the end of a text after normalising it (of U+FFFD); the imitation
keeps the space.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from dragoman.base.errors import ModelError
from dragoman.interop.huggingface.files import SEGMENTER, Folder, JsonTable, text_of_token
from dragoman.text.tokenizers.subwords import Subwords

# The tokenizers that are read, by model_type; the first has a vocab.json.
TOKENIZERS = {"m2m_100": ("M2M100Tokenizer", "NllbTokenizer"), "mbart": ("MBart50Tokenizer",)}

_FIRST = ("<s>", "<pad>", "</s>", "<unk>")
_CODE = re.compile("[a-z]{2,3}_[A-Z][A-Za-z]{1,3}")
_OF_M2M = {  # in the order of their ids
    "m2m100": (
        "af am ar ast az ba be bg bn br bs ca ceb cs cy da de el en es et fa ff fi fr fy ga gd gl gu ha he "
        "hi hr ht hu hy id ig ilo is it ja jv ka kk km kn ko lb lg ln lo lt lv mg mk ml mn mr ms my ne nl no "
        "ns oc or pa pl ps pt ro ru sd si sk sl so sq sr ss su sv sw ta th tl tn tr uk ur uz vi wo xh yi yo "
        "zh zu"
    ),
    "wmt21": "en ha is ja cs ru zh de",
}


def with_vocabulary(folder: Folder, size: int) -> Folder:
    """Return the folder of a model with `size` embeddings, with its list of pieces and marks of languages.

    Raises ModelError for another tokenizer, and if no languages are listed.
    """
    kind, listed = tokenizer_class(folder), _added(folder)
    if folder.tokenizer.get("legacy_behaviour") is True:
        raise ModelError(
            f"{folder.tokenizer.path}: legacy_behaviour = true puts the source language after the end",
            hint="if the model was trained with the language before the text, set it to false",
        )
    if kind == "M2M100Tokenizer":
        pieces = dict(JsonTable.read(folder.path / "vocab.json").values)
        first = len(pieces)
        codes = _OF_M2M.get(folder.tokenizer.typed("language_codes", "m2m100"), "").split()
    else:
        try:
            known = Subwords(folder.segmenters[0])
        except ValueError as error:
            raise ModelError(f"{folder.path}: {error}", hint=f"download {SEGMENTER} again") from error
        first = 1 + len(known)
        pieces = {piece: i for i, piece in enumerate([*_FIRST, *known.pieces(range(3, len(known)))])}
        codes = [token for token in listed if _CODE.fullmatch(token)]
    if not codes:
        raise ModelError(
            f"{folder.path}: no file lists the languages of the model",
            hint="download special_tokens_map.json of this model too",
        )
    for number, code in enumerate(codes, first):
        pieces[f">>{code}<<"] = number if (its := listed.get(code)) is None else its
    if (mask := listed.get("<mask>")) is not None:
        pieces.setdefault("<mask>", mask)
    taken = {number for number in pieces.values() if type(number) is int}
    gaps = set(range(min(size, max(taken)))) - taken
    table = JsonTable(folder.path, pieces | {f"<no piece {i}>": i for i in gaps})
    return replace(folder, vocabularies=(table, table))


def tokenizer_class(folder: Folder) -> str:
    """Return the class of the tokenizer: one of `TOKENIZERS`. Raises ModelError for another."""
    known = TOKENIZERS[folder.config.typed("model_type", "")]
    stated = folder.tokenizer.typed("tokenizer_class", folder.config.typed("tokenizer_class", ""))
    kind = stated.removesuffix("Fast") or known[0 if (folder.path / "vocab.json").exists() else -1]
    start = folder.generation.token("decoder_start_token_id") or folder.config.token("decoder_start_token_id")
    if kind not in known or start != folder.config.token("eos_token_id"):
        raise ModelError(
            f"{folder.path}: tokenizer_class {kind!r}, whose decoder starts with the token {start}",
            hint=f"of this model_type, a model with {' or '.join(known)} is read, which starts with </s>",
        )
    return kind


def _added(folder: Folder) -> dict[str, int | None]:
    """Return the added tokens of the first file with languages, and their ids or, if only listed, None."""
    for tokens in _lists(folder):
        found = {content: number for content, number in tokens if content is not None}
        if any(map(_CODE.fullmatch, found)):
            return found
    return {}


def _lists(folder: Folder) -> Iterator[list[tuple[str | None, int | None]]]:
    fast = JsonTable.read_if_any(folder.path / "tokenizer.json")
    tokens = fast.get("added_tokens")
    found = [token for token in tokens if isinstance(token, dict)] if isinstance(tokens, list) else []
    yield [(text_of_token(token), token["id"]) for token in found if type(token.get("id")) is int]
    decoder = folder.tokenizer.get("added_tokens_decoder")
    items = decoder.items() if isinstance(decoder, dict) else ()
    yield [
        (text_of_token(token), int(number))
        for number, token in items
        if number.isdecimal() and len(number) < 9
    ]
    for table in (folder.tokenizer, JsonTable.read_if_any(folder.path / "special_tokens_map.json")):
        for name in ("extra_special_tokens", "additional_special_tokens"):
            listed = table.get(name)
            texts = map(text_of_token, listed) if isinstance(listed, list) else ()
            yield [(text, folder.added.token(text) if text else None) for text in texts]
