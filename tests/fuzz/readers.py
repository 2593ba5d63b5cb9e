"""Fuzz the readers of model files of strangers: `python -m tests.fuzz.readers TARGET --seconds 60`.

A target is one file of a model folder; the other files stay as they are. Whatever the file holds, the reader
may only return or raise a DragomanError with a hint, soon. Atheris guides the search by coverage. Where it is
not installed, or with --plain, a loop of our own mutates at random, with a fixed seed.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import io
import json
import resource
import shutil
import signal
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any

from dragoman.base.errors import DragomanError

SAVED = Path(__file__).parents[1] / "saved/0.1/transformer"
LONGEST = 20_000  # bytes of an input
SECONDS = 20  # for one input
MEMORY = 3_000_000_000  # bytes of data of the process, PyTorch included
HUGE: tuple[object, ...] = (
    0,
    -1,
    1,
    2**31,
    2**63,
    2**64 + 61,
    10**30,
    10**400,
    1e308,
    1e999,
    -1e999,
    float("nan"),
    "9" * 5000,
    None,
    [],
    {},
    True,
    "",
    "\ud800",
)


class Wrong(Exception):
    """A reader did something else than return or raise a DragomanError with a hint, soon."""


@dataclass(frozen=True, kw_only=True)
class Target:
    """A reader and the file that it is given."""

    make: Callable[[Path], object]  # writes a good folder
    file: str  # in the folder, that is replaced
    read: Callable[[Path], object]
    seal: Callable[[Path, bytes], object] = lambda _folder, _data: None  # what names the file's digest

    def run(self, folder: Path, data: bytes) -> bool:
        """Read the folder with the file replaced. Returns whether it was accepted. Raises Wrong."""
        (folder / self.file).write_bytes(data)
        self.seal(folder, data)
        signal.signal(signal.SIGALRM, _too_slow)
        signal.alarm(SECONDS)
        try:
            self.read(folder)
            return True
        except DragomanError as error:
            if not error.hint or len(str(error)) > 5_000:
                raise Wrong(f"an error without a hint, or too long: {str(error)[:500]}") from error
            return False
        except Wrong:
            raise
        except Exception as error:
            raise Wrong(f"{type(error).__name__}: {str(error)[:500]}") from error
        finally:
            signal.alarm(0)


def _too_slow(_signal: int, _frame: FrameType | None) -> None:
    raise Wrong(f"still reading after {SECONDS} seconds")


# ---- our own folders ------------------------------------------------------------------------------


def _own(folder: Path) -> None:
    """A folder of release 0.1, in which the weights need no digest."""
    shutil.copytree(SAVED, folder, dirs_exist_ok=True)
    config = json.loads((folder / "config.json").read_text())
    config.pop("weights", None)
    (folder / "config.json").write_text(json.dumps(config))


def _translate(folder: Path) -> None:
    from dragoman.translation.translator import Translator

    Translator.load(folder, engine="native").translate(["A dog."], max_extra_tokens=2)


def _seal_tokenizer(name: str, folder: Path, data: bytes) -> None:
    table = json.loads((folder / "tokenizer.json").read_text())
    table["files"][name] = hashlib.blake2b(data, digest_size=16).hexdigest()
    (folder / "tokenizer.json").write_text(json.dumps(table))


def _tokenizer(kind: str, folder: Path) -> None:
    from dragoman.text.tokenizers import words
    from dragoman.text.tokenizers.tokenizer import Tokenizer, TokenizerConfig

    lines = ["A dog runs.", "The cat sat on the mat."]
    if kind == "words":
        config = TokenizerConfig(kind="words", placeholders=0)
        vocabulary = words.train(lines, vocab_size=30)
        Tokenizer(config, vocabulary, vocabulary).save(folder)
        return
    from dragoman.text.tokenizers.mapped import Mapped
    from tests.text.marian import SPECIALS, marian

    both = marian()
    names = both.vocabularies[0].pieces(range(both.source_size))
    vocabulary_of_names = Mapped(both.vocabularies[0].to_files()[".spm"], names, SPECIALS)
    config = TokenizerConfig(kind="mapped", vocab_size=len(names))
    Tokenizer(config, vocabulary_of_names, vocabulary_of_names, specials=SPECIALS).save(folder)


def _cut(folder: Path) -> None:
    from dragoman.text.tokenizers.tokenizer import Tokenizer

    tokenizer = Tokenizer.load(folder)
    ids = tokenizer.encode_source(["A dog runs \u00e9."])[0]
    tokenizer.decode([i for i in ids if i < tokenizer.target_size])


def _adapter(folder: Path) -> None:
    digest = "sha256:" + "0" * 64
    table = {
        "format_version": 1,
        "base": digest,
        "base_name": "base",
        "weights": digest,
        "name": "a",
        "source_language": "en",
        "target_language": "de",
        "shape": {"rank": 2, "alpha": 4.0, "on": ["attention"]},
    }
    (folder / "adapter.json").write_text(json.dumps(table))


def _read_adapter(folder: Path) -> None:
    from dragoman.translation.folder.adapter import read_adapter_config

    read_adapter_config(folder)


def _optional(folder: Path, name: str, content: bytes) -> None:
    _own(folder)
    (folder / name).write_bytes(content)


# ---- other programs' ------------------------------------------------------------------------------


def _marian(folder: Path) -> None:
    from tests.interop import marian_models

    marian_models.write(folder)


def _marian_list(folder: Path) -> None:
    import sentencepiece

    from tests.interop import marian_models as models

    segmenter = models.vocabulary()
    processor = sentencepiece.SentencePieceProcessor(model_proto=segmenter)
    names = [processor.id_to_piece(i) for i in range(len(processor))]
    models.write(folder, vocabularies=[segmenter])
    (folder / "source.spm").write_bytes(segmenter)
    (folder / "target.spm").write_bytes(segmenter)
    (folder / "vocab.spm").unlink()
    (folder / "vocab.yml").write_text("".join(f"{json.dumps(name)}: {i}\n" for i, name in enumerate(names)))
    (folder / "decoder.yml").write_text("models: [model.npz]\nvocabs: [vocab.yml, vocab.yml]\n")


def _read_marian(folder: Path) -> None:
    from dragoman.interop import marian

    marian.read(folder)


def _huggingface(folder: Path, *, pickled: bool = False) -> None:
    from tests.interop import opus

    opus.save(folder)
    if pickled:
        import torch
        from safetensors.torch import load_file

        torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
        (folder / "model.safetensors").unlink()


def _read_huggingface(folder: Path) -> None:
    from dragoman.interop import huggingface

    huggingface.read(folder)


def _archive(folder: Path, *, tar: bool = False) -> None:
    data = io.BytesIO()
    files = dict.fromkeys(("model/config.json", "model/a/b.txt"), b"{}" * 10)
    if tar:
        with tarfile.open(fileobj=data, mode="w:gz") as packed:
            for name, content in files.items():
                info = tarfile.TarInfo(name)
                info.size = len(content)
                packed.addfile(info, io.BytesIO(content))
    else:
        with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in files.items():
                archive.writestr(name, content)
    (folder / "model.archive").write_bytes(data.getvalue())


def _open(folder: Path) -> None:
    from dragoman.interop.source import opened

    with opened(folder / "model.archive") as inside:
        assert folder not in inside.parents


_RISK = (
    b'{"format_version": 3, "weights": null, "languages": {"de": {"low_confidence": -1.5, "correction": '
    b'{"bias": 1, "terms": {}}, "searched": {}, "given": {}}}}'
)
TARGETS: dict[str, Target] = {
    **{
        name: Target(make=_own, file=name, read=_translate)
        for name in ("config.json", "generation.json", "tokenizer.json", "model.safetensors")
    },
    "digests.json": Target(
        make=partial(_optional, name="digests.json", content=b'{"files": {"config.json": {"bytes": 3}}}'),
        file="digests.json",
        read=_translate,
    ),
    "risk.json": Target(
        make=partial(
            _optional,
            name="risk.json",
            content=_RISK,
        ),
        file="risk.json",
        read=_translate,
    ),
    "tokenizer.spm": Target(
        make=_own, file="tokenizer.spm", read=_cut, seal=partial(_seal_tokenizer, "tokenizer.spm")
    ),
    "words.json": Target(
        make=partial(_tokenizer, "words"),
        file="tokenizer.words.json",
        read=_cut,
        seal=partial(_seal_tokenizer, "tokenizer.words.json"),
    ),
    "vocab.json": Target(
        make=partial(_tokenizer, "mapped"),
        file="tokenizer.vocab.json",
        read=_cut,
        seal=partial(_seal_tokenizer, "tokenizer.vocab.json"),
    ),
    "adapter.json": Target(make=_adapter, file="adapter.json", read=_read_adapter),
    "marian/model.npz": Target(make=_marian, file="model.npz", read=_read_marian),
    "marian/decoder.yml": Target(make=_marian, file="decoder.yml", read=_read_marian),
    "marian/vocab.spm": Target(make=_marian, file="vocab.spm", read=_read_marian),
    "marian/vocab.yml": Target(make=_marian_list, file="vocab.yml", read=_read_marian),
    **{
        f"huggingface/{name}": Target(make=_huggingface, file=name, read=_read_huggingface)
        for name in (
            "config.json",
            "generation_config.json",
            "tokenizer_config.json",
            "vocab.json",
            "source.spm",
            "model.safetensors",
        )
    },
    "huggingface/pytorch_model.bin": Target(
        make=partial(_huggingface, pickled=True), file="pytorch_model.bin", read=_read_huggingface
    ),
    "archive.zip": Target(make=_archive, file="model.archive", read=_open),
    "archive.tar": Target(make=partial(_archive, tar=True), file="model.archive", read=_open),
}


# ---- mutations ------------------------------------------------------------------------------------


def _replaced(of: Any, random: Random) -> Any:
    """The value with one of its parts replaced by something huge or of another kind, or left out."""
    if isinstance(of, dict) and of and random.random() < 0.9:
        key = random.choice(list(of))
        if random.random() < 0.1:
            return {name: value for name, value in of.items() if name != key}
        return of | {key: _replaced(of[key], random)}
    if isinstance(of, list) and of and random.random() < 0.9:
        place = random.randrange(len(of))
        return [*of[:place], _replaced(of[place], random), *of[place + 1 :]]
    return random.choice(HUGE)


def _json(value: Any, random: Random) -> bytes:
    text = json.dumps(value)
    if random.random() < 0.1:  # a key twice
        text = text.replace("{", "{" + text[1 : text.find(",")] + ",", 1) if "," in text else text
    if random.random() < 0.02:
        text = random.choice(["[" * 100_000, '{"a":' * 100_000, "9" * 10_000])
    return text.encode()


def mutated(data: bytes, random: Random) -> bytes:
    """The bytes with random damage. JSON, and the header of safetensors, stay JSON half of the time."""
    if random.random() < 0.5:
        with contextlib.suppress(ValueError, RecursionError):
            value = json.loads(data)
            for _ in range(random.randint(1, 3)):
                value = _replaced(value, random)
            return _json(value, random)
        with contextlib.suppress(ValueError, RecursionError):
            size = int.from_bytes(data[:8], "little")
            if 0 < size < len(data):
                text = _json(_replaced(json.loads(data[8 : 8 + size]), random), random)
                return len(text).to_bytes(8, "little") + text + data[8 + size :]
    array = bytearray(data)
    for _ in range(random.choice((1, 2, 5, 20))):
        place = random.randrange(len(array) + 1)
        match random.randrange(6):
            case 0:
                array[place : place + 1] = random.randbytes(1)
            case 1:
                array[place:place] = random.randbytes(random.randrange(1, 9))
            case 2:
                del array[place : place + random.randrange(1, 50)]
            case 3:
                number = random.choice((0, -1, 2**31 - 1, 2**32 - 1, 2**63 - 1, random.randrange(300)))
                array[place : place + 8] = (number % 2**64).to_bytes(8, random.choice(("little", "big")))[
                    : random.choice((2, 4, 8))
                ]
            case 4:
                start = random.randrange(len(array) + 1)
                array[place:place] = array[start : start + random.randrange(1, 200)]
            case 5:
                array[place : place + 1] = random.choice(
                    (b"[" * 50_000, b"-", b"9" * 20, b"\x00", b"\xff" * 10, b"e999", b'"', b"{", b": &a *a")
                )
    return bytes(array[: random.randrange(len(array) + 1)] if random.random() < 0.05 else array)


def inputs(seed: bytes, *, number: int = 1) -> Iterator[bytes]:
    """Mutations of the file, without end."""
    random = Random(number)
    while True:
        yield mutated(seed, random)


# ---- the command ----------------------------------------------------------------------------------


def plain(target: Target, folder: Path, *, seconds: float, most: int | None = None) -> tuple[int, int]:
    """Run mutations for this long, or `most` of them. Returns how many, and how many were accepted."""
    seed, begin, accepted, count = (folder / target.file).read_bytes(), time.monotonic(), 0, 0
    for count, data in enumerate(inputs(seed), 1):
        accepted += target.run(folder, data)
        if count == most or time.monotonic() - begin > seconds:
            break
    (folder / target.file).write_bytes(seed)
    return count, accepted


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", choices=[*TARGETS])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--plain", action="store_true", help="without Atheris")
    parser.add_argument("--keep", type=Path, default=Path(), help="the folder for an input that fails")
    parser.add_argument("files", nargs="*", type=Path, help="only read these")
    options = parser.parse_args()
    target = TARGETS[options.target]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary, "model")
        folder.mkdir()
        target.make(folder)
        seed = (folder / target.file).read_bytes()
        with contextlib.suppress(DragomanError):
            target.read(folder)  # imports, for which a busy machine may take longer than SECONDS
        if not target.run(folder, seed) and options.target not in ("digests.json", "risk.json"):
            raise Wrong("the file is refused as it is")
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
        for path in options.files:
            print(path, target.run(folder, path.read_bytes()))
        if options.files:
            return 0
        if not options.plain:
            return _atheris(target, folder, seed, options)
        try:
            count, accepted = plain(target, folder, seconds=options.seconds)
            print(f"{count} inputs, {accepted} accepted")
        except Wrong:
            name = options.target.replace("/", "-")
            shutil.copy(folder / target.file, options.keep / f"wrong-{name}")
            raise
    return 0


def _atheris(target: Target, folder: Path, seed: bytes, options: argparse.Namespace) -> int:
    import atheris  # type: ignore[import-not-found,import-untyped,unused-ignore]

    corpus = folder.parent / "corpus"
    corpus.mkdir()
    (corpus / "seed").write_bytes(seed)

    def mutate(data: bytes, most: int, number: int) -> bytes:
        random = Random(number)
        return mutated(data or seed, random)[:most] if random.random() < 0.5 else atheris.Mutate(data, most)

    def one(data: bytes) -> None:
        target.run(folder, data)

    name = options.target.replace("/", "-")
    arguments = [
        "readers",
        str(corpus),
        f"-max_total_time={int(options.seconds)}",
        f"-max_len={max(LONGEST, 2 * len(seed))}",
        f"-timeout={SECONDS + 20}",
        f"-rss_limit_mb={MEMORY // 10**6}",
        "-seed=1",
        "-len_control=0",
        "-print_final_stats=1",
        f"-artifact_prefix={options.keep}/wrong-{name}-",
    ]
    atheris.Setup(arguments, one, custom_mutator=mutate)
    atheris.Fuzz()
    return 0


if __name__ == "__main__":
    if "--plain" not in sys.argv:
        import atheris

        with atheris.instrument_imports(include=["dragoman"]):
            import dragoman.interop.huggingface
            import dragoman.interop.marian
            import dragoman.interop.source
            import dragoman.text.tokenizers.mapped
            import dragoman.text.tokenizers.tokenizer
            import dragoman.translation.folder.adapter
            import dragoman.translation.folder.shortlist
            import dragoman.translation.translator  # noqa: F401
    sys.exit(main())
