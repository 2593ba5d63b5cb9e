"""Resources of a translator, and whether they fit its model: terms, a memory, a reverse model.

Terms and memories are imported when they are used, so that other translators start sooner.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from dragoman.base.errors import ConfigError
from dragoman.base.languages import base, related
from dragoman.text.blank import is_blank
from dragoman.text.formality import LANGUAGES
from dragoman.text.guidance import marks_of
from dragoman.text.tokenizers.tokenizer import Tokenizer
from dragoman.translation.search.options import Decoding

if TYPE_CHECKING:
    from dragoman.translation.memory.store import MemoryGuide, TranslationMemory
    from dragoman.translation.terms.terms import TermGuide, TermList, TermsMode

# The decoding options that `Translator.inspect` uses.
_INSPECTED = (
    "beam", "length_penalty", "normalization", "stop", "source", "to", "minimum_length", "no_repeat_ngram",
    "max_extra_tokens", "formality",
)  # fmt: skip


def adapter_folders(
    adapter: str | Path | Mapping[str, str | Path] | None,
) -> tuple[str | None, dict[str, Path]]:
    """Return the name of the adapter to use at once, and the folders of all by their names."""
    if isinstance(adapter, Mapping):
        return None, {name: Path(folder).absolute() for name, folder in adapter.items()}
    if adapter is None:
        return None, {}
    folder = Path(adapter).absolute()
    return folder.name, {folder.name: folder}


def term_guide(
    terms: str | Path | TermList,
    mode: TermsMode | None,
    languages: tuple[str, str],
    tokenizer: Tokenizer,
    reads: Sequence[str],
) -> TermGuide:
    """The guide of a list of terms, or of a file of one, for a model that `reads` this with a line.

    Raises ConfigError for a mode that the model does not have.
    """
    from dragoman.translation.terms.terms import TermGuide, TermList, TermsMode

    mode = mode or ("soft" if "terms" in reads else "hard")
    if mode not in get_args(TermsMode):
        raise ConfigError(
            f"terms_mode = {mode!r} cannot be used", hint=f"use {' or '.join(get_args(TermsMode))}"
        )
    able = "terms" in reads and marks_of(tokenizer) is not None
    if mode == "soft" and not able:
        raise ConfigError(
            "this model was not trained to read terms", hint="use hard, or train it with data.terms"
        )
    return TermGuide(terms if isinstance(terms, TermList) else TermList.read(terms, *languages), mode, able)


def check_beside(reads: Sequence[str], *, context: bool, formality: str | None, to: str = "mul") -> None:
    """Raise ConfigError for a context or a formality that a model, which `reads` others, would not read.

    `to` is the target language, "mul" for one left open.
    """
    for name, given in (("context", context), ("formality", formality)):
        if given and name not in reads:
            raise ConfigError(
                f"this model was not trained to read {name}",
                hint=f"leave it out, or train a model with data.{name}",
            )
    if formality and to != "mul" and base(to) not in LANGUAGES:
        raise ConfigError(
            f"formality = {formality}: there are no rules for {to}",
            hint=f"leave it out; there are rules for {' and '.join(LANGUAGES)}",
        )


def check_inspection(
    decoding: Decoding, target: str | None, prefix: str, guides: Sequence[object], reverse: object
) -> None:
    """Raise ConfigError for options and resources that a trace, or one of a given `target`, does not use."""
    changed = [one.name for one in fields(decoding) if getattr(decoding, one.name) != one.default]
    if unused := [name for name in changed if name not in _INSPECTED]:
        raise ConfigError(
            f"inspection does not use {', '.join(unused)}", hint=f"it uses {', '.join(_INSPECTED)}"
        )
    searched = decoding != Decoding(
        length_penalty=decoding.length_penalty,
        normalization=decoding.normalization,
        source=decoding.source,
        to=decoding.to,
        formality=decoding.formality,
    )
    if target is not None and (searched or not is_blank(prefix)):
        raise ConfigError("a given translation cannot have options of a search", hint="leave one of them out")
    if target is None and (guides or reverse is not None):
        raise ConfigError(
            f"inspection does not use {'terms and memories' if guides else 'a reverse model'}",
            hint="call translate, or use the translator without them",
        )


def with_term_list(guides: Iterable[TermGuide], new: TermGuide) -> tuple[TermGuide, ...]:
    """The guides with these terms added.

    Lists that are used in the same way become one, so that the longest term of all wins, and a term of both
    may have any of its translations. The new ones come first.
    """
    from dragoman.translation.terms.terms import TermGuide, TermList

    others: list[TermGuide] = []
    for one in guides:
        own = new.terms.source_language, new.terms.target_language
        if (
            one.mode == new.mode
            and related(one.terms.source_language, own[0])
            and (related(one.terms.target_language, own[1]))
        ):
            new = TermGuide(TermList(chain(new.terms.terms, one.terms.terms), *own), new.mode, new.reads)
        else:
            others.append(one)
    return (*others, new)


def check_term_languages(
    guides: Iterable[TermGuide], languages: tuple[str, str], several: Sequence[str], to: str | None
) -> None:
    """Raise ConfigError for terms of other languages than the translator's.

    `several` are the target languages of a model that chooses among them. One of them is enough without `to`.
    """
    targets = (to,) if to is not None else several or (languages[1],)
    for guide in guides:
        own = guide.terms.source_language, guide.terms.target_language
        # A model of several may have a name for all, such as "mul", for which a file of terms is read.
        unknown = own[1] == languages[1] and bool(several) and languages[1] not in several
        _check_pair("the terms are", own, languages[0], (own[1],) if unknown else targets)


def _check_pair(what: str, own: tuple[str, str], source: str, targets: Sequence[str]) -> None:
    """Raise ConfigError unless languages fit a translator. One of the targets is enough."""
    if not related(own[0], source) or not any(related(own[1], one) for one in targets):
        raise ConfigError(
            f"{what} from {own[0]} to {own[1]}, but the translator translates from {source} to "
            f"{', '.join(targets)}",
            hint="use one of these languages",
        )


def memory_guide(memory: str | Path | TranslationMemory, least: float, reads: Sequence[str]) -> MemoryGuide:
    """The guide of a memory, or of a file of one, for a model that `reads` this with a line."""
    if not 0 < least <= 100:
        raise ConfigError(f"match_least = {least} cannot be used", hint="use 1 to 100 percent")
    from dragoman.translation.memory.store import MemoryGuide, TranslationMemory

    if not isinstance(memory, TranslationMemory):
        memory = TranslationMemory(memory)
    return MemoryGuide(memory, least=least, reads="matches" in reads)


def check_memory(guide: MemoryGuide | None, source: str, targets: Sequence[str]) -> None:
    """Raise ConfigError for a memory of other languages. One of the targets is enough."""
    if guide is not None:
        own = guide.memory.source_language, guide.memory.target_language
        _check_pair(f"{guide.memory.path}: is", own, source, targets)


def check_reverse(reverse: tuple[str, str], own: tuple[str, str]) -> None:
    """Raise ConfigError if the reverse model does not translate the other way: from `own[1]` to `own[0]`."""
    if not (related(reverse[0], own[1]) and related(reverse[1], own[0])):
        raise ConfigError(
            f"the reverse model translates from {reverse[0]} to {reverse[1]}, "
            f"this one from {own[0]} to {own[1]}",
            hint=f"choose a model from {own[1]} to {own[0]}",
        )
