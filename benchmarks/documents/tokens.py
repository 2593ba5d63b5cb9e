"""Count tokens of real messages that are not words, and those that a translated file lost without a mark.

    python benchmarks/documents/tokens.py FOLDER --model runs/en-de

FOLDER is the one of `corpus.py`, which collects the files. Twenty thousand English messages of them are
translated by the model, or without one by a pretended translator that drops and changes all tokens that are
not words. Then other programs read the written files. A token is what a program or a reader needs as it is: a
directive, an argument, a tag, an address, a path, an option, a number, a name. A message is marked if its
format says so (fuzzy, a state), or if the report lists it.

It needs the programs that `corpus.py` needs. Names in capitals have a row of their own, and do not count in
the sum: languages have their own UN and EU.
"""

from __future__ import annotations

import argparse
import io
import re
import subprocess
import tarfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polib
from collecting import collect
from messages import BILINGUAL, ONE_LANGUAGE, po_text
from pretenders import pretend

from dragoman import Translator
from dragoman.base.errors import DataError
from dragoman.documents.formats import Languages, document_format
from dragoman.documents.segment import Replacing, full_text
from dragoman.documents.translate import translate_document

ALL = Replacing(retranslate=True, approved=True, final=True, locked=True)
LANGUAGE = re.compile(
    r"(?<=[+._-])([a-z]{2}([-_][A-Z][A-Za-z]{1,3})?(?=\.\w+$|\.lproj|[+.])|[A-Z]\w+(?=\.lproj)|values(-\w\w)?(?=[+-]))"
)
ENGLISH = re.compile(r"en([-_]\w+)?|English|values")
QUOTES = str.maketrans(
    dict.fromkeys("\"'„“”‚‘’«»‹›—–|", " ") | {"\u00a0": " ", "\u202f": " ", "‐": "-", "−": "-"}
)
CAPITALS = "name in capitals"
DIRECTIVE = re.compile(r"%%|%\(\w+\)[a-z]|%[-+#0']*\d*(?:\$|\.\d+)?[-+#0']*\d*(?:hh|ll|[hljztLq])?[A-Za-z@]")
ESCAPE = re.compile(r"(?:\\[nrt])+(?![a-z])|(?<=\w\w:)(?:\\[nrt])+")  # written out; not of a path
CHARACTER = re.compile(r"\\u([0-9a-f]{4})")  # Android may have it as it is
ACCELERATORS = ("&", "_")
SIGNS = frozenset("&_%-{}[]")  # that stay where the word beside them is translated
MIRROR = str.maketrans("()[]{}<>", ")(][}{><")
NO_LANGUAGE = frozenset(("in", "my", "to", "is", "js", "ui", "sh", "io", "rb", "py", "sap", "co", "no"))
WORDS: set[str] = set()  # of English, in small letters
EDGE = ".,;:!?…()[]"  # punctuation of the sentence, where it is not of the token


def tokens(text: str) -> Counter[str]:
    """The tokens of a text, as another program may need them."""
    found = list[str]()
    text = CHARACTER.sub(lambda escape: chr(int(escape[1], 16)), text)
    text = re.sub(r"`(?=[^`']*')|(?<=\w)`(?=s\b)", " ", text)  # GNU quotes `so'
    for chunk in chunks(ESCAPE.sub(r" \g<0> ", text.translate(QUOTES))):
        for part in chunk.split(";;"):  # Qt divides "PO files (*.po);;All files (*)"
            found += [one for one in meant(stripped(part)) if is_token(one) or one in SIGNS]
    return Counter(map(digits, found))


def stripped(chunk: str) -> str:
    """The chunk without the punctuation around it: "corrupted" for "(corrupted?)", "but" for "...but"."""
    before = ""
    while chunk != before:
        before = chunk
        while chunk and chunk[-1] in EDGE and not paired(chunk):
            chunk = chunk[:-1]
        while chunk and chunk[0] in "([,;!?…" and not paired(chunk[::-1].translate(MIRROR)):
            chunk = chunk[1:]
        chunk = chunk.lstrip(".") if chunk.startswith("...") else chunk
        if chunk[:1] == "(" and chunk[-1:] == ")" and chunk.find(")") == len(chunk) - 1:
            chunk = chunk[1:-1]
    return chunk


def meant(chunk: str) -> list[str]:
    """The directives of a chunk, and the rest of it; an accelerator without its word, and "3" of "3-pane"."""
    if (rest := DIRECTIVE.sub(" ", chunk)) != chunk:
        return [one[0] for one in DIRECTIVE.finditer(chunk)] + rest.strip(" " + EDGE).split()
    if re.fullmatch(r"[A-Za-z'-]*&[A-Za-z'-]+|_[A-Za-z'-]+", chunk):
        return ["&" if "&" in chunk else "_"]
    # "_" within one English word is an accelerator, too: I_mages.
    if re.fullmatch(r"[A-Z]?[a-z]*_[a-z]+", chunk) and is_english(chunk.replace("_", "")):
        return ["_"]
    # An English word may be translated and the sign beside it stays: [OPTION], {kein Schaf}, Use%, #comments,
    # -WIDTH, which German manual pages have as -BREITE.
    found = re.fullmatch(r"([\[{])([A-Za-z-]+)([\]}])", chunk)
    if found and all(map(is_english, found[2].split("-"))):
        return [found[1], found[3]]
    if found := re.fullmatch(r"([\[{])[^\W\d_]+|[^\W\d_]+([\]}%])", chunk):
        return [found[1] or found[2]]
    if re.fullmatch(r"-[A-Z]{2,}", chunk):
        return ["-", chunk[1:]]
    if chunk.startswith("#") and is_english(chunk[1:]):
        return []
    # Letters in brackets are of the word around them, and name a key: [q]uit.
    chunk = re.sub(r"\[([a-z])\](?=[a-z])", r"\1", chunk)
    # Names joined by a slash are two: OTP/2FA. Paths have more slashes or a dot.
    if re.fullmatch(r"(?=.*[A-Z])\w+/\w+", chunk):
        return chunk.split("/")
    if (found := re.fullmatch(r"(\d+)([a-z]{3,})", chunk)) and is_english(found[2]):  # 3way, 7bit
        return [found[1]]
    if found := re.fullmatch(r"(\d+)(?:st|nd|rd|th)?(?:-[A-Za-z]+)+|(\d+)(?:st|nd|rd|th|s)", chunk):
        return [] if found[2] else [found[1]]
    # A word in small letters, joined to a token by a hyphen, may be translated: GPLv3-compatible.
    if found := re.fullmatch(r"(\w*\d\w*)-([a-z]+)|([a-z]+)-(\w*[A-Za-z]\w*)", chunk):
        word, other = found[2] or found[3], found[1] or found[4]
        if is_english(word) and re.search(r"\d", other):
            return [other]
    return [chunk] if chunk not in (*ACCELERATORS, "-") else []


def chunks(text: str) -> Iterator[str]:
    """Parts without space; a tag and an argument in braces are one each, with the spaces they hold."""
    place = 0
    while place < len(text):
        sign = text[place]
        if sign.isspace():
            place += 1
        elif (end := closed(text, place)) is not None:
            yield " ".join(text[place:end].split())
            place = end
        else:
            end = place
            while end < len(text) and not text[end].isspace() and closed(text, end) is None:
                end += 1
            yield text[place:end]
            place = end


def closed(text: str, place: int) -> int | None:
    """The end of the tag or argument that begins here."""
    if text[place] == "<" and re.match(r"</?[A-Za-z][^<>]*>", text[place:]):
        return text.index(">", place) + 1
    if found := re.match(r"\{\{[^{}]*\}\}|[$#%]?\{[^{}\s,]*\}", text[place:]):
        return place + found.end()
    return None


def paired(chunk: str) -> bool:
    pairs = {")": "(", "]": "[", "}": "{", ">": "<"}
    return chunk[-1] in pairs and chunk.count(pairs[chunk[-1]]) >= chunk.count(chunk[-1])


def is_token(chunk: str) -> bool:
    """Whether it is not made of words. Words are of letters, joined by a sign."""
    if re.fullmatch(r"(?:[A-Za-z]\.)+[A-Za-z]?", chunk) or re.fullmatch(r"[A-Za-z](?:\.[A-Za-z])+", chunk):
        return False  # i.e.
    if all(map(is_english, re.split(r"[=:+,|]|->", chunk.strip("*").removesuffix("=").removesuffix(":")))):
        return False  # English words, which may be translated: key=value, from:to, Audio->Load
    if re.fullmatch(r"[a-z]+-", chunk):
        return False  # pre- and post-image
    if re.fullmatch(r"Ma?c[A-Z][a-z]+", chunk):
        return False  # MacKenzie: a name of a person is a word
    words = [one for one in re.split(r"(?<=\w)\.?[-/&·;](?=\w)|[()]|\.$", chunk) if one]  # Min.-max.
    if all(one.isalpha() for one in words):
        return any(re.search(r"[a-z][A-Z]", one) or is_short(one) for one in words)
    if chunk.isdigit():
        return int(chunk) > 12  # which are written as words
    return any(sign.isalnum() or sign in "%{}$@\\_" for sign in chunk)


def is_short(word: str) -> bool:
    """Whether it is in capitals and no English word: YYYY, HTML."""
    return len(word) > 1 and word.isascii() and word.isupper() and word.lower() not in WORDS


def is_english(word: str) -> bool:
    """Whether it is a word of the list, perhaps in capitals or in the plural."""
    low = word.lower()
    return len(word) > 1 and word.isalpha() and (low in WORDS or low.removesuffix("s") in WORDS)


def digits(chunk: str) -> str:
    """Numbers may be written as in the other language."""
    joined = re.sub(r"(?<=\d)[.,](?=\d)", "", chunk)
    return joined.rstrip("0") or "0" if joined.isdigit() else joined


def group(token: str) -> str:
    """A name for tokens of this look."""
    looks = (
        ("address", r"\w+://|www\.|.+@.+\.\w+$"),
        ("tag", r"<.*>$"),
        ("entity", r"&#?\w+;"),
        ("argument in braces", r".*[{}]"),
        ("directive", r".*%"),
        ("option", r"-{1,2}\w"),
        ("variable", r".*\$"),
        ("accelerator", r"[&_]$"),
        ("sign and name", r"[:@#!&~_^]+\w"),
        ("name in camel case", r"([^\W\d_]*[-/])*[^\W\d_]*[a-z][A-Z][^\W\d_/-]*([-/][^\W\d_]+)*$"),
        (CAPITALS, r"[A-Za-z]+([-/&·;()]+[A-Za-z]+)*$"),
        ("path", r".*[/\\]"),
        ("number", r"[\d.,:+-]+$"),
        ("number with letters", r"[\d.,:+-]+"),
        ("dotted name", r".*\w\.\w"),
        ("name with _", r".*_"),
    )
    return next((name for name, look in looks if re.match(look, token)), "other")


@dataclass
class Message:
    file: str
    source: str
    target: str
    marked: bool


@dataclass
class Tally:
    messages: int = 0
    with_tokens: int = 0
    tokens: Counter[str] = field(default_factory=Counter)
    marked: Counter[str] = field(default_factory=Counter)
    unmarked: Counter[str] = field(default_factory=Counter)
    losses: list[tuple[list[str], Message]] = field(default_factory=list)

    def add(self, message: Message) -> None:
        if any(sign.isalpha() and not sign.isascii() for sign in message.source):
            return  # not English
        self.messages += 1
        source, target = tokens(message.source), tokens(message.target)
        self.with_tokens += bool(source)
        self.tokens.update(group(one) for one in source.elements())
        lost = list((source - target).elements())
        lost = [one for one in lost if not holds(message.target, one, source[one])]
        (self.marked if message.marked else self.unmarked).update(map(group, lost))
        if lost and not message.marked:
            self.losses.append((lost, message))


def holds(text: str, token: str, count: int) -> bool:
    """Whether the text has it as often, glued to other signs."""
    text = re.sub(r"(?<=\d)[.,](?=\d)", "", " ".join(text.translate(QUOTES).split()))
    return text.count(token) >= count


def catalogues(files: dict[str, list[Path]], most: int) -> Iterator[tuple[str, str, bytes]]:
    """Files of English messages, each message once: kind, name and content."""
    seen: set[str] = set()
    left = most
    for kind in (*ONE_LANGUAGE, "xliff", "ts", "po"):
        share = left if kind == "po" else min(left, most // 10)
        for path in files.get(kind, ()):
            if share <= 0:
                break
            data = path.read_bytes()
            named = [one[0] for one in LANGUAGE.finditer(path.name) if one[0] not in NO_LANGUAGE]
            if kind in ONE_LANGUAGE and named and not ENGLISH.fullmatch(named[-1]):
                continue
            try:
                if kind == "po":
                    data, fresh = new_messages(data, seen, share)
                else:
                    found = (BILINGUAL | ONE_LANGUAGE)[kind](data).values()  # type: ignore[operator]
                    texts = {one if isinstance(one, str) else one[0] for one in found}
                    fresh = len(texts - seen)
                    if fresh < len(texts) / 2:
                        continue
                    seen |= texts
            except Exception as error:  # the other program cannot read it
                print(f"{path.name}: not read by the other program: {type(error).__name__}")
                continue
            if fresh:
                left, share = left - fresh, share - fresh
                yield kind, path.name, data


def words_of(package: Path) -> set[str]:
    """The list of words in a package of Debian."""
    tar = subprocess.run(
        ["dpkg-deb", "--fsys-tarfile", *package.glob("*.deb")], capture_output=True, check=True
    ).stdout
    with tarfile.open(fileobj=io.BytesIO(tar)) as opened:
        lists = [one for one in opened if one.isreg() and one.name.startswith("./usr/share/dict/")]
        text = b"\n".join(opened.extractfile(one).read() for one in lists)  # type: ignore[union-attr]
    # Words of programs that the list of Debian lacks.
    return {word.lower() for word in text.decode().split() if not word.isupper()} | {"filename"}


def new_messages(data: bytes, seen: set[str], most: int) -> tuple[bytes, int]:
    """The catalogue with the messages that no other has, without their translations."""
    old = polib.pofile(po_text(data))
    new = polib.POFile()
    new.metadata = {
        "Content-Type": "text/plain; charset=UTF-8",
        "Plural-Forms": "nplurals=2; plural=(n != 1);",
        "Language": "de",
    }
    for entry in old:
        if entry.msgid in seen or entry.obsolete or len(new) >= most:
            continue
        seen.add(entry.msgid)
        entry.msgstr, entry.flags = "", [flag for flag in entry.flags if flag != "fuzzy"]
        entry.msgstr_plural = dict.fromkeys((0, 1), "") if entry.msgid_plural else {}
        new.append(entry)
    return str(new).encode(), len(new)


def languages_of(data: bytes) -> Languages:
    found = re.search(rb"target-language=\"([\w-]+)\"|<TS[^>]*language=\"(\w+)\"|trgLang=\"([\w-]+)\"", data)
    named = next((one for one in found.groups() if one), b"de") if found else b"de"
    return Languages("en", named.decode().replace("_", "-"))


def translated(translator: Any, kind: str, name: str, data: bytes) -> Iterator[Message]:
    languages = languages_of(data)
    translator.target_language = languages.target
    known = document_format(Path(name), data)
    document = known.parse(data, languages)
    new, results, _ = translate_document(translator, document, replacing=ALL, labels=known.has_labels)
    if kind in BILINGUAL:
        for source, target, marked in BILINGUAL[kind](new).values():
            yield Message(name, source, target, marked)
        return
    doubtful = [
        full_text(one.source).strip()
        for one, result in zip(document.segments, results, strict=True)
        if result is not None and result.doubts
    ]
    doubtful = [one for one in doubtful if one]
    before, after = ONE_LANGUAGE[kind](data), ONE_LANGUAGE[kind](new)
    for key, source in before.items():
        marked = any(one in source or source in one for one in doubtful)
        if isinstance(source, str) and key in after:
            yield Message(name, source, after[key], marked)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--model", help="without one, pretended translators run")
    parser.add_argument("--most", type=int, default=20_000, help="messages")
    parser.add_argument("--show", type=int, default=20, help="losses to print of each group")
    options = parser.parse_args()
    files = collect(options.folder)
    WORDS.update(words_of(options.folder / "packages" / "debian-wamerican"))
    began = time.perf_counter()
    tally, kinds, refused = Tally(), Counter[str](), Counter[str]()
    model = Translator.load(options.model) if options.model else None
    for number, (kind, name, data) in enumerate(catalogues(files, options.most)):
        translator = model or pretend("careless", number, "en", "de")
        try:
            for message in translated(translator, kind, name, data):
                tally.add(message)
                kinds[kind] += 1
        except DataError as error:
            refused[f"{kind}: {re.sub(r'line [0-9]+: ', '', str(error))[:80]}"] += 1
    shown: Counter[str] = Counter()
    for lost, message in tally.losses:
        for look in {group(one): one for one in lost}:
            shown[look] += 1
            if shown[look] <= options.show:
                own = [one for one in lost if group(one) == look]
                print(f"{look}: {own} in {message.file}\n  {message.source!r}\n  {message.target!r}")
    took = time.perf_counter() - began
    print(f"\n{tally.messages:,} messages, {tally.with_tokens:,} with tokens, {took:.0f} s")
    print(", ".join(f"{kind} {count:,}" for kind, count in kinds.items()))
    for reason, count in refused.items():
        print(f"refused {count:>4}  {reason}")
    print("| token | in the sources | lost, marked | lost, not marked |\n| --- | ---: | ---: | ---: |")
    for name, count in tally.tokens.most_common():
        print(f"| {name} | {count:,} | {tally.marked[name]:,} | {tally.unmarked[name]:,} |")
    counted = [one for one in tally.tokens if one != CAPITALS]
    total = [sum(one[name] for name in counted) for one in (tally.tokens, tally.marked, tally.unmarked)]
    print(f"| all but those in capitals | {total[0]:,} | {total[1]:,} | {total[2]:,} |")


if __name__ == "__main__":
    main()
