"""Tokens that are words of no language, and which a translation must have, too: iPhone, MP3, C++, std::x, ->.

    lost_tokens("Sync your iPhone ->", "Synchronisieren Sie Ihr Telefon")  # ["iPhone", "->"]

A model may inflect them or join them with a word, so a token counts as kept where its characters are.
"""

from __future__ import annotations

import re
from collections import Counter

from dragoman.base.languages import base
from dragoman.text.checks.placeholders import MEASURE

_EDGES = ".,;:!?…'\"()[]{}«»“”„‟’‘‚‹›*-–—_&~¿¡。，、；：？！（）「」『』،؛؟"  # accelerators, too
_OWNER = re.compile(r"['’]\w{0,2}$|^[dlDL]['’](?=\w)")
_COMPOUND = re.compile(r"\s+|(?<=[A-Za-z0-9])[-/;](?=[A-Za-z])")  # Linux-based; not B5-0045
_GENDER = r"(?:in|innen|[rnme])"  # German: Nutzer:innen, jede*r
_NO_WORD = re.compile(
    r"^(?!(?:[A-Z]{2,3}\$|[ckmd]?m[23]$|\d+x\d+$"  # US$5, km2, 4x4
    rf"|\w+(?:Innen|[:*]{_GENDER})$))"
    r"(?:.*(?:[A-Za-z]\d|\d(?![hHuU]\d)[A-Za-z]+\d"  # MP3; not 5th, 10km, 10h30
    r"|(?<!Mc)(?<!Mac(?=[A-Z][a-z]))(?<=[a-z])[A-Z]"  # iPhone; not MacKay
    r"|[a-z]!/[a-z]|[A-Za-z0-9]_[A-Za-z0-9]|[A-Za-z][@$%*~{}][A-Za-z0-9]|[A-Za-z](?:\+\+|\#)$"
    r"|[A-Za-z0-9]{2}\.[a-z][a-z0-9]|//|::|[A-Z]{2}(?:[-#]\d|\+(?!\d))|[A-Za-z]{2}\^(?!\d))"
    r"|[@$%]+[A-Za-z_]|/[A-Za-z]|[A-Za-z]+(?:,[A-Za-z]+){2,}$|[A-Z]{2,5}\.[1-9]|[A-Z]\.\d{3}"  # X.509
    r"|[ugoa]{1,4}[-+=][rwxst]{1,5}$|U\+$|0[0-7]{3}$)"  # u+rw
)
_PICTURES = r"©®™§±≤≥≠\u2190-\u21ff\u2600-\u27bf\U0001f000-\U0001faff"  # signs, arrows and pictures
_SIGNS = re.compile(
    rf"(?=[-=<>|&!:+*/~^\\{{}}#;.%$@{_PICTURES}])(?:"  # which makes it fast
    r"(?<!\S)(?!<<|>>)(?=[^\s\w]*[&!:])[-=<>|&!:+*/~^\\]{2,}+(?!\S)|(?<!\S)~(?!\S)|;;|\*\*"  # &&, !=
    rf"|(?<!\w)\\[A-Za-z]\w*|[=<>|\\^{{}}]+|#\d*|[{_PICTURES}]"  # \pos, ->, a=b, #2
    r"|(?<![\w.)\]…])\.[a-z]\w*|(?<!\w)\$(?=\s+[a-z]|\s*['\"])"  # .git
    rf"|(?<=[A-Za-z]):(?!{_GENDER}\b)(?=[A-Za-z])|(?:\*(?=[.\w])|(?<=[.\w])\*)(?!{_GENDER}\b)"  # a:b, *.x
    r"|(?<!\S)\+[a-z](?!\w)|\+(?=[A-Za-z])|(?<=[A-Za-z])(?:(?<!\+)\+(?!\+)|%)"  # a+b, X%
    r"|(?<=[A-Za-z])/(?=[\d\W]|\Z|[a-z]\d)|(?<=\d)/(?=[A-Za-z])|/(?=\.[a-z])"  # OTP/2FA; not and/or
    r"|(?<![^\s(])(?<!\d\s)(?:%(?![^\s,.)])|[@$](?=[,.)]|\s[a-z]|\Z))|(?<=\()\*(?=\)))"
)
_NAMES = re.compile(  # refs/tags/, open(2), backup_, argv[0], mail.*, size=5
    r"(?<![\w/.])[a-z]+(?:/[a-z]+)*/(?![\w/])|(?<![\w-])[a-z][\w-]{0,40}\(\d[a-z]?\)"
    r"|(?<![\w-])[A-Za-z]\w{0,40}(?:-[\w-]{1,40}_(?!\w)|_(?=\[))|(?<!\w)[a-z]\w{0,40}(?:\[0?\]|\.\*)"
    r"|(?<![\w-])(?!(?:key|name|option)=)[a-z][\w:]{0,40}=(?:-?[a-z0-9][a-z0-9/-]*(?!\w))?"
)
_JOINED = re.compile(  # KeePassXC-Browser, KOI8-R, Latin-3; not level-3
    r"(?<![\w-])(?:(?=\w{0,40}[a-z][A-Z])\w+-(?:[A-Z]\w*|[a-z]{2})|[A-Z][A-Z0-9]*(?:-\d+|\d)-[A-Z]{1,3}"
    r"|(?!(?:Mid|Pre|Post|Early|Late|Under|Over|Top|Non|Base)-)(?:[A-Z][A-Za-z]{2,}|windows|latin)-\d+)(?![\w-])"
)
_LETTERS = re.compile(r"(?<![\w.])[B-DF-HJ-NP-TV-Z]{3,}(?![\w.])")  # CSS: no word that is shouted
_BRACKETS = re.compile(  # [y/N], [-]x; not w[h]ile, [all of them]
    r"\[(?=\s*+(?:[^\s\[\]]*+\s*+\](?![a-z])|[^\s\w\[\]]*+\]))"
)
_NAMED = r"[a-z][a-z0-9]+(?:-[a-z0-9]+)*|[a-z][A-Z]{2,}"
_OPTION = re.compile(  # -icanon at the start or quoted
    r"(?:(?<![^\n])|(?<=\s\s\s)|(?<=\n \* )|(?<=[\s(][\"'`|\[])|(?<=\A[\"'`|\[]))"
    rf"(?:-(?:{_NAMED}|[A-Za-z0-9])(?![\w-]|[.,]\d)|-(?=\[[A-Za-z]|[A-Z]{2}))"
)
_OPTION_IN_TEXT = re.compile(  # not the German "Wind und -wetter", nor the same in Nordic languages and Dutch
    r"(?<!\bund )(?<!\boder )(?<!\bsowie )(?<!\bbzw\. )(?<!\ben )(?<!\bog )(?<!\beller )"
    r"(?<!\boch )(?<!\bsamt )(?<!\bja )(?<!\bsekä )(?<!\btai )(?<=[^\s(]\s)"
    rf"(?:-(?:{_NAMED}|[A-Z][a-z]|\d)(?![\w-]|[.,]\d)|-(?=\[[A-Za-z]|[A-Z]{{2}}))"
)
_DASH = re.compile(r"(?<!-)-(?!\S)|[–—]")
_MINUS = re.compile(r"(?:[\u2212\u2013]|\b[Mm](?:inus|oins|enos|eno)\s)(?=\d)")
_NUMBER = re.compile(r"\b[Nn](?:r|o|um\w{1,6})?[.°º\s]{1,2}(?=\d)|№\s?")
_DIRECTIVE = r"%(?:\(\w{1,40}\))?[-+#0-9$.*]{0,12}l{0,2}[A-Za-z@]|\}"
_UNIT = re.compile(rf"(?:{_DIRECTIVE}|\d(?=px|pt|r?em|v[hw]|ms|dpi|fps|[kMG]?Hz))({MEASURE})")
_APART = re.compile(rf"(?:{_DIRECTIVE})[ \u00a0\u202f](?=[A-Za-z]{{2}})({MEASURE})")
_DASHED = re.compile(r"(?<![^\s'\"])-(?=%[a-z])")  # of an option: -%c
_OCTETS = re.compile(r"(?<=[kKMGTP])o\b|(?<=[KMGTP]i)o\b")  # in French
_OTHER_SCRIPT = re.compile(r"[^\W\d_a-zA-Z\u00aa-\u024f\u1e00-\u1eff]")
_PERCENT = re.compile(r"\d[ \u00a0\u202f]?%")
_PERCENTS = re.compile(  # and words for it
    r"(?i)[%％٪]|pro[cz]|per ?c|pour|por c|pct|pst\b|cent|sent|hundert|half"
    r"|persen|peratus|posto|gcéad|y cant|ehuneko|asilimia|fil-mija|viertel|quart|mitad|metà|metade"
    r"|hälfte|moitié|százal|odsto|sut|yüzde|[^\W\d_a-z\u00aa-\u024f]"
)
_ACCELERATOR = re.compile(r"(?:[A-Z][a-z]*)?_[A-Za-z][a-z]*")  # as in E_xit
_CAPITALISING = frozenset(("de", "lb"))  # nouns
_IN_NAMES = re.compile(r"[/(_=\[]|\.\*")
_WIDE = str.maketrans("（）", "()")
_LABEL = 5  # words: longer texts may have an abbreviation of their own language
_MNEMONIC = 4  # words of a label, in which "_" is an accelerator: "E_xit"
_MOST = 100  # that are looked for inside of words


def lost_tokens(source: str, target: str, language: str = "") -> list[str]:
    """Return the tokens of the source that are no words and that the target has less often.

    `language` is that of the source: in German "iPhone-Nutzer" is a word, in others a name.
    """
    label = source.count("_") == 1 and source.strip()[:1].isupper() and len(source.split()) <= _MNEMONIC
    target = _NUMBER.sub("#", target) if "#" in source else target
    target = _MINUS.sub("-", target) if "-" in source else target
    names = base(language) not in _CAPITALISING
    lost = _tokens(source, names) - _tokens(target, names)
    kept = [one for one in lost if not (label and (_ACCELERATOR.fullmatch(one) or not one.isascii()))][:_MOST]
    missing = {one: min(lost[one], _count(one, source) - _count(one, target)) for one in kept}
    percent = ["%"] * ("%" not in missing and bool(_PERCENT.search(source)) and not _PERCENTS.search(target))
    return [one for one in kept for _ in range(missing[one])] + percent + _unbalanced(source, target)


def lost_units(source: str, target: str, target_words: str) -> list[str]:
    """Return the units, as in "%.1fkg", "{0} km" and "1px", that the target lacks. "%.1f kg" has one.

    The dash of "-%c", too.
    """
    units = Counter(_UNIT.findall(source)) - Counter(_UNIT.findall(target))
    if not _OTHER_SCRIPT.search(target):  # which has its own: кг
        units |= Counter(_APART.findall(source)) - Counter(_APART.findall(target))
    left = units.keys() - set(re.findall(r"[A-Za-zµ/]+", _OCTETS.sub("B", target_words)))
    dashes = min(1, max(0, len(_DASHED.findall(source)) - len(_DASHED.findall(target))))
    return [one for one in units if one in left] + ["-"] * dashes


def _tokens(text: str, names: bool) -> Counter[str]:
    found = Counter(_SIGNS.findall(text))
    found.update("[]" * len(_BRACKETS.findall(text)))
    if "-" in text:
        found.update(_OPTION.findall(text))
        found.update(() if _DASH.search(text) else _OPTION_IN_TEXT.findall(text))
        found.update(_JOINED.findall(text) if names else ())
    found.update(_LETTERS.findall(text) if text.count(" ") < _LABEL else ())
    found.update(_NAMES.findall(text) if _IN_NAMES.search(text) else ())
    parts = (part.strip(_EDGES) for part in _COMPOUND.split(text))
    odd = (part for part in parts if not (part.isalpha() and part[1:].islower()))
    bare = (_OWNER.sub("", part).strip(_EDGES) for part in odd)
    found.update(one for one in bare if _NO_WORD.match(one))
    return found


def _unbalanced(source: str, target: str) -> list[str]:
    """The brackets that lack their partner in the target: round ones, others if the source has none."""
    here, there = (text.translate(_WIDE) for text in (source, target))
    there = there if "(" in here + there else re.sub(r"(?<!\w)\w{1,2}\)|[:;]-?\)", "", there)  # a), :)
    kinds = ["()", *(one for one in ("[]", "{}") if one[0] not in here)]
    more = [[text.count(one[0]) - text.count(one[1]) for text in (here, there)] for one in kinds]
    return [one[new > 0] for one, (old, new) in zip(kinds, more, strict=True) if new and not old]


def _count(token: str, text: str) -> int:
    """How often a text has a token: a name also with other capitals, or without the s of its plural."""
    name = token.removesuffix("s").casefold() if token[0].isupper() or "-" in token[1:] else ""
    return text.casefold().count(name) if name else text.count(token)
