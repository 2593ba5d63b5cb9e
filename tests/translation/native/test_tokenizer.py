"""The tokenizers of a page against SentencePiece and the Python classes, and on damaged models."""

from __future__ import annotations

import io
import json
import random
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
from tests.text.sentences import DELICATE
from tests.translation.native.page import Tokenizer

from dragoman.text.tokenizers import subwords
from dragoman.text.tokenizers.extend import appended, new_pieces
from dragoman.text.tokenizers.ids import Specials
from dragoman.text.tokenizers.mapped import Mapped
from dragoman.text.toy.corpus import pairs
from dragoman.translation.native import build

pytestmark = pytest.mark.skipif(bool(build.unavailable()), reason=str(build.unavailable()))

OURS: dict[str, Any] = {
    "normalization_rule_name": "identity", "remove_extra_whitespaces": False, "byte_fallback": True,
    "pad_id": 0, "bos_id": 1, "eos_id": 2, "unk_id": 3,
}  # fmt: skip
MODELS: dict[str, dict[str, Any]] = {
    "bpe": {"model_type": "bpe", "user_defined_symbols": ["⟦1⟧", "⟦2⟧"], **OURS},
    "unigram": {"model_type": "unigram", "user_defined_symbols": ["⟦1⟧", "⟦2⟧"], **OURS},
    "characters": {"model_type": "char", "add_dummy_prefix": False, **OURS},
    "unigram-nmt": {"model_type": "unigram"},
    "bpe-fold": {"model_type": "bpe", "normalization_rule_name": "nmt_nfkc_cf", "split_digits": True},
    "characters-nfkc": {"model_type": "char", "normalization_rule_name": "nfkc"},
    "unigram-suffix": {"model_type": "unigram", "treat_whitespace_as_suffix": True, "byte_fallback": True},
    "bpe-symbols": {"model_type": "bpe", "user_defined_symbols": ["ab", "abc", "bcd", " x", "ﬁ", "🙂"]},
    "unigram-symbols": {
        "model_type": "unigram", "user_defined_symbols": ["ab", "abc", "bcd", "th", "the", "ﬁ", "🙂"],
        "control_symbols": ["<2de>", "e"], "unk_surface": " <?> ", "remove_extra_whitespaces": False,
    },
    "unigram-plain": {"model_type": "unigram", "add_dummy_prefix": False, "normalization_rule_name": "nfkc"},
}  # fmt: skip
SENTENCES = [side for pair in pairs(count=600) for side in pair]
CHARACTERS = (
    "aábßéﬁœ ÄİıſΣς \t\n\r\0\x01\x7f\x85\xa0\xad\u0300\u0301\u0345\u1680\u2003\u2028\u200b\u200d\u202e\u2060"
    "\u2581\ufeff\ufffd\uffff…“„«»‘’€№①½²漢字かがカガｶﾞｱＡ１！한글ﷺﷲالعربيةקषि\u094d👩\u200d👧🇩🇪🙂𝔘𠀀\U0010ffff⟦1⟧<>0123456789"
)
NASTY = [
    *DELICATE, "", " ", "   ", "\t", "\0", "\n\n", "▁", "▁▁a▁", " a", "a ", "  a  b  ", "\u3000a\u3000",
    "½ ² ①", "⟦1⟧", "⟦1⟧⟦2⟧", "a⟦1⟧b ⟦2⟧ ⟦3⟧", "abcd xabcabbcd x", "the there thesis ab", "ﬁﬂﬀ", "é \u0301",
    "<s> </s> <unk> <pad> <2de> <0x41>", "１２３ ABC ｱｲｳ ﾞ", "ﷺ ﷲ", "👩\u200d👩\u200d👧", "a\u200bb\u2060d",
    "word " * 3000, "漢" * 2000, "\U0010ffff" * 500, "  " * 2000, "ab" * 2500,
]  # fmt: skip
BROKEN = [
    b"\xff", b"\x80abc", b"ab\xc3", b"\xc3(", b"\xe2\x96", b"\xe2\x96\x81\x81", b"\xed\xa0\x80", b"\xc0\xaf",
    b"\xf4\x90\x80\x80", b"\xf0\x9f\x99", b"a\xe0\x80\x80b", b"\xf8\x88\x80\x80\x80", bytes(range(256)),
]  # fmt: skip


@cache
def trained(name: str) -> bytes:
    model = io.BytesIO()
    options: dict[str, Any] = {"vocab_size": 700, "hard_vocab_limit": False, "minloglevel": 2, **MODELS[name]}
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(SENTENCES), model_writer=model, num_threads=1, **options
    )
    return model.getvalue()


@cache
def both(name: str) -> tuple[sentencepiece.SentencePieceProcessor, Tokenizer]:
    model = trained(name)
    return sentencepiece.SentencePieceProcessor(model_proto=model), Tokenizer("bpe", model)


def mixed(count: int, seed: int = 1) -> list[str]:
    draw = random.Random(seed)
    words = [*" ".join(SENTENCES[:100]).split(), *" ", *CHARACTERS]
    return ["".join(draw.choices(words, k=draw.randint(1, 30))) for _ in range(count)]


@pytest.mark.parametrize("name", MODELS)
def test_ids_are_those_of_sentencepiece(name: str) -> None:
    theirs, ours = both(name)
    assert len(ours) == len(theirs)
    for line in [*SENTENCES, *NASTY, *mixed(1500), *CHARACTERS]:
        expected = theirs.encode(line, out_type=int)
        assert ours.encode(line) == expected, line[:200]
        assert ours.decode(expected) == theirs.decode(expected), line[:200]


@pytest.mark.parametrize("name", MODELS)
def test_broken_bytes_are_cut_as_by_sentencepiece(name: str) -> None:
    theirs, ours = both(name)
    draw = random.Random(1)
    for line in [*BROKEN, *(draw.randbytes(draw.randint(1, 40)) for _ in range(300))]:
        assert ours.tokens(line)[0] == theirs.encode(line, out_type=int), line


@pytest.mark.parametrize("name", MODELS)
def test_ends_are_the_offsets_of_sentencepiece(name: str) -> None:
    theirs, ours = both(name)
    for line in [*SENTENCES[:100], *mixed(300), *(line for line in NASTY if len(line) < 100)]:
        data = line.encode()
        expected = [end for _, end in theirs.encode(line, out_type="offset_mapping")["offsets"]]
        assert [len(data[:end].decode()) for end in ours.tokens(data)[1]] == expected, line


@pytest.mark.parametrize("name", MODELS)
def test_text_of_random_ids_is_that_of_sentencepiece(name: str) -> None:
    theirs, ours = both(name)
    draw = random.Random(1)
    assert [ours.piece(i) for i in range(len(ours))] == [theirs.id_to_piece(i) for i in range(len(ours))]
    for _ in range(1000):
        ids = draw.choices(
            range(min(270, len(ours)) if draw.random() < 0.5 else len(ours)), k=draw.randint(0, 12)
        )
        assert ours.decode(ids) == theirs.decode(ids), ids


def with_unused(model: bytes) -> bytes:
    """The model with every third of its ordinary pieces marked as unused."""
    out, number = b"", 0
    for place, size in headers(model, depth=1):
        length, start = varint(model, place + 1)
        field = model[place : place + size + length]
        body = model[start : start + length]
        if field[0] == 0x0A and b"\x18" not in body and len(body) < 100:  # a piece without a type
            number += 1
            if number % 3 == 0:
                field = bytes([0x0A, length + 2]) + body + b"\x18\x05"
        out += field
    return out


@pytest.mark.parametrize("name", ["bpe", "bpe-symbols", "unigram", "unigram-nmt"])
def test_unused_pieces_are_not_used(name: str) -> None:
    model = with_unused(trained(name))
    theirs, ours = sentencepiece.SentencePieceProcessor(model_proto=model), Tokenizer("bpe", model)
    assert sum(theirs.is_unused(i) for i in range(len(theirs))) > 50
    for line in [*SENTENCES, *mixed(300)]:
        assert ours.encode(line) == theirs.encode(line, out_type=int), line


# ---- our own vocabularies ------------------------------------------------------------------------


# Lines that begin with marks of languages, or with something like them.
STARTS = (
    ">>fra<<",
    ">>fra<< ",
    ">>fra<<  ",
    ">>x y<<",
    ">>deu<<",
    ">>x y<< >>fra<< ",
    ">>fra<<>>fra<<",
    ">>fra<< >>deu<<",
    ">>fra<<\t",
)
MARKED = [
    *(f"{start}{line}" for line in SENTENCES[:20] for start in STARTS), *STARTS,
    ">>fra", ">>fra\n<<a", ">><<",
    ">><<<<", ">>é<<", ">>>fra<<", " >>fra<<", ">>", ">", "a >>fra<< b", ">>fra<<<", ">>a<<b<<",
]  # fmt: skip


@pytest.mark.parametrize("languages", [(), ("x y", "é", "fra", "a<<b")])
@pytest.mark.parametrize("kind", ["bpe", "unigram", "characters"])
def test_ids_are_those_of_subwords(kind: Any, languages: tuple[str, ...]) -> None:
    python = subwords.train(
        SENTENCES, kind, vocab_size=600, byte_fallback=True, character_coverage=1.0, placeholders=3,
        languages=languages,
    )  # fmt: skip
    ours = Tokenizer(kind, python.to_bytes())
    lines = [*MARKED, *([] if languages else [*SENTENCES, *NASTY, *mixed(300)])]
    for line, ids in zip(lines, python.encode(lines), strict=True):
        assert ours.encode(line) == ids, line[:200]
        assert ours.decode(ids) == python.decode(ids), line[:200]


@pytest.mark.parametrize("kind", ["bpe", "unigram", "characters"])
def test_tokens_behind_marks_end_where_they_do_in_python(kind: Any) -> None:
    python = subwords.train(
        SENTENCES, kind, vocab_size=600, byte_fallback=True, character_coverage=1.0, languages=("x y", "fra")
    )
    ours = Tokenizer(kind, python.to_bytes())
    for start in (">>fra<< ", ">>x y<<", ">>x y<<>>fra<< "):
        for line in SENTENCES[:20]:
            surfaces = python.surfaces(start + line)
            assert "".join(surfaces) == start + line
            ends = [len(part.encode()) for part in accumulate(surfaces)]
            assert ours.tokens((start + line).encode())[1] == ends


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_ids_of_an_extended_vocabulary(kind: Any) -> None:
    new = ["Пекарят продава хляб.", "Вечер пекарят свири.", "Pekař prodává chléb."] * 2
    old = subwords.train(SENTENCES, kind, vocab_size=600, byte_fallback=True, character_coverage=1.0)
    python = appended(old, new_pieces(old, new, 60), ["bg", "cs"])
    ours = Tokenizer(kind, python.to_bytes())
    assert len(ours) == len(python) == len(old) + 62
    lines = [
        *new,
        *SENTENCES[:50],
        *mixed(100),
        *(f">>{one}<< {line}" for one in ("bg", "cs", "fra") for line in new),
    ]
    for line, ids in zip(lines, python.encode(lines), strict=True):
        assert ours.encode(line) == ids, line[:200]
        assert ours.decode(ids) == python.decode(ids), line[:200]


def mapped(pieces: list[str] | None = None) -> Mapped:
    """The pieces of a model in another order, without some and with others, as imported models have them."""
    theirs, _ = both("unigram-nmt")
    known = [theirs.id_to_piece(i) for i in range(3, len(theirs))]
    random.Random(1).shuffle(known)
    pieces = pieces or [
        "</s>",
        "<unk>",
        *known[50:],
        ">>fra<<",
        ">>x y<<",
        "other▁",
        "漢",
        '"\\/\b\f\n\r\t',
        *("<mask>", "<no piece 7>"),
        "<pad>",
    ]
    return Mapped(trained("unigram-nmt"), pieces, Specials(pad=len(pieces) - 1, start=0, end=0, unknown=1))


def page_of(python: Mapped) -> Tokenizer:
    files, specials = python.to_files(), python._specials
    order = (specials.pad, specials.start, specials.end, specials.unknown)
    return Tokenizer("mapped", files[".spm"], files[".vocab.json"], order)


def test_ids_are_those_of_mapped() -> None:
    python = mapped()
    ours = page_of(python)
    assert len(ours) == len(python)
    assert [ours.piece(i) for i in range(len(ours))] == python.pieces(range(len(ours)))
    lines = [*SENTENCES, *NASTY, *mixed(300), *MARKED]
    for line, ids in zip(lines, python.encode(lines), strict=True):
        assert ours.encode(line) == ids, line[:200]
        assert ours.decode(ids) == python.decode(ids), line[:200]
    draw = random.Random(1)
    for _ in range(1000):
        ids = draw.choices(range(len(ours)), k=draw.randint(0, 12))
        assert ours.decode(ids) == python.decode(ids), ids


def test_text_of_mapped_is_stripped_as_by_python() -> None:
    spaces = [chr(i) for i in range(0x3100) if chr(i).isspace()]
    python = mapped(["</s>", "<unk>", "a", *spaces, "\u200b", "\x1b", "b\u2003", "<pad>"])
    ours = page_of(python)
    for first in range(2, len(python) - 1):
        for ids in ([first], [first, 2, first], [first, first], [2, first, first + 1]):
            assert ours.decode(ids) == python.decode(ids), ids


def test_lists_are_read_as_by_json() -> None:
    model = trained("unigram-nmt")
    texts = ["a", "ä", "\u2028", "\U0001f642", "\0", "\x7f", "\uffff", "\\u0041", '"', "/"]
    for text in (
        json.dumps(texts),
        json.dumps(texts, ensure_ascii=False, indent=3),
        ' [ "a" ,\t"\\u00E4\\/"\n] ',
    ):
        ours = Tokenizer("mapped", model, text.encode(), (0, 0, 0, 0))
        assert [ours.piece(i) for i in range(len(ours))] == json.loads(text)


@pytest.mark.parametrize(
    "text",
    [
        b"", b"[", b"]", b"{}", b"[1]", b'["a"', b'["a" "b"]', b'["a",]', b'["a"]x', b'["\\u12"]', b'["\\x"]',
        b'["\\', b'["\\ud800"]', b'["\\ud800\\u0041"]', b'["\\udc00"]', b'["\xff"]', b'["\n"]', b"[[]]",
        b'["a\\"]',
    ],
)  # fmt: skip
def test_a_damaged_list_is_refused(text: bytes) -> None:
    with pytest.raises(ValueError, match="not a list of pieces"):
        Tokenizer("mapped", trained("unigram-nmt"), text, (0, 0, 0, 0))


def test_what_the_engine_cannot_hold_is_refused() -> None:
    words = sentencepiece_of(model_type="word", vocab_size=200)
    model = trained("unigram-nmt")
    for arguments, message in (
        (("words", b'["a"]'), "no tokenizer of the kind words"),
        (("bpe", words), "not by words"),
        (("bpe", b""), "not a SentencePiece model"),
        (("bpe", b'["a"]'), "not a SentencePiece model"),
        (("mapped", model, b'["a", "b", "a"]', (0, 0, 0, 0)), "the piece a is listed twice"),
        (("mapped", model, b'["a", "b"]', (0, 0, 0, 2)), "a special id is not in the vocabulary"),
        (("mapped", model, b"[]", (0, 0, 0, 0)), "a special id is not in the vocabulary"),
    ):
        with pytest.raises(ValueError, match=message):
            Tokenizer(*arguments)


def sentencepiece_of(**options: Any) -> bytes:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(SENTENCES),
        model_writer=model,
        minloglevel=2,
        hard_vocab_limit=False,
        **options,
    )
    return model.getvalue()


def test_ids_outside_of_the_vocabulary_are_refused() -> None:
    _, ours = both("bpe")
    for wrong in (-1, len(ours), 2**31 - 1, -(2**31)):
        with pytest.raises(IndexError):
            ours.decode([5, wrong])
        with pytest.raises(IndexError):
            ours.piece(wrong)


# ---- damaged models ------------------------------------------------------------------------------


LINES = ("The ﬁne old farmer ①½ｶﾞ ⟦1⟧ ab  漢".encode(), "ﷺ\u3000\0abc thesis".encode(), b"  ", b"\xff\xe2\x96")


def use(model: bytes, pieces: bytes = b"") -> bool:
    """Load a model and cut text with it. Returns whether it is one; the library must not crash."""
    try:
        ours = Tokenizer("mapped" if pieces else "bpe", model, pieces, (0, 0, 0, 0))
    except ValueError:
        return False
    for line in LINES:
        ids, ends = ours.tokens(line)
        assert all(0 <= i < len(ours) for i in ids)
        assert all(0 <= end <= len(line) for end in ends)
        ours.decoded(ids)
    return True


def headers(message: bytes, start: int = 0, depth: int = 2) -> Iterator[tuple[int, int]]:
    """The place and size of the tag of each field, and of its length or number, within a message."""
    at = 0
    while at < len(message):
        begin, tag, length = at, 0, 0
        tag, at = varint(message, at)
        match tag & 7:
            case 0:
                _, at = varint(message, at)
            case 1:
                at += 8
            case 5:
                at += 4
            case _:
                length, at = varint(message, at)
        yield start + begin, at - begin
        if length and depth > 1:
            with suppress(IndexError):  # text, not a message
                yield from headers(message[at : at + length], start + at, depth - 1)
        at += length


def varint(message: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        number |= (message[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if message[at - 1] < 0x80:
            return number, at


@pytest.mark.parametrize("name", ["bpe", "unigram-symbols", "bpe-fold"])
def test_cut_off_models_do_not_crash(name: str) -> None:
    model = trained(name)
    assert use(model)
    places = [
        *range(200),
        *range(len(model) - 200, len(model)),
        *random.Random(1).sample(range(len(model)), 200),
    ]
    assert not all(use(model[:place]) for place in places)
    assert not use(model[:-1])


@pytest.mark.parametrize("name", ["bpe", "unigram-symbols", "bpe-fold"])
def test_models_with_a_damaged_header_do_not_crash(name: str) -> None:
    model = trained(name)
    fields = list(headers(model))
    assert len(fields) > 1000
    draw = random.Random(1)
    for place, size in [*fields[:40], *draw.sample(fields, 100), *fields[-60:]]:
        for at in range(place, place + size):
            for byte in (0, 0xFF, 0x7F, model[at] ^ 1, model[at] ^ 0x80, (model[at] + 1) % 256):
                use(model[:at] + bytes([byte]) + model[at + 1 :])
        use(model[:place] + b"\xff" * 11 + model[place + size :])
        use(model[:place] + model[place + size :])


def test_damaged_tables_of_characters_do_not_crash() -> None:
    model = trained("bpe-fold")
    table = model.index(b"nmt_nfkc_cf") + len("nmt_nfkc_cf")
    assert len(model) - table > 100_000
    draw = random.Random(1)
    for _ in range(60):
        damaged = bytearray(model)
        for _ in range(draw.choice((1, 10, 20_000))):
            damaged[draw.randrange(table, len(model))] = draw.randrange(256)
        use(bytes(damaged))
    for byte in range(8):  # the size of the double array, and its first unit
        for value in (0, 1, 0x7F, 0xFF):
            use(model[: table + 3 + byte] + bytes([value]) + model[table + 4 + byte :])


def test_random_bytes_are_no_model() -> None:
    draw = random.Random(1)
    for _ in range(2000):
        use(draw.randbytes(draw.randint(0, 60)))


@pytest.mark.slow
def test_memory_under_the_sanitizers(tmp_path: Path) -> None:
    """Models with random damage under the address and undefined-behaviour sanitizers."""
    code = Path(build.__file__).parent / "cpp"
    driver = Path(__file__).with_name("tokenizer_driver.cpp")
    sources = [code / f"{name}.cpp" for name in ("normaliser", "sentencepiece", "tokenizer", "tokenizer_api")]
    flags = ["-std=c++17", "-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    program = tmp_path / "driver"
    subprocess.run(
        [*build._compiler(), *flags, f"-I{code}", *map(str, sources), str(driver), "-o", str(program)],
        check=True,
    )
    pieces = tmp_path / "pieces.json"
    pieces.write_bytes(mapped().to_files()[".vocab.json"])
    for name in MODELS:
        path = tmp_path / "model"
        path.write_bytes(trained(name))
        result = subprocess.run(
            [str(program), str(path), str(pieces), "1500"], capture_output=True, text=True, check=False
        )
        assert result.returncode == 0, result.stderr
        assert int(result.stdout) > 0
