"""Tokens that are words of no language, and which a translation must have, too: iPhone, MP3, C++, std::x, ->.

    lost_tokens("Sync your iPhone ->", "Synchronisieren Sie Ihr Telefon")  # ["iPhone", "->"]

They are not placeholders, because a model may inflect them or join them with a word. So a token counts as
kept where its characters are. The checks of numbers and of placeholders judge what is theirs.
"""

from __future__ import annotations

import re
from collections import Counter

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
    r"|[A-Za-z0-9]_[A-Za-z0-9]|[A-Za-z][@$%*~{}][A-Za-z0-9]|[A-Za-z](?:\+\+|\#)$"
    r"|[A-Za-z0-9]{2}\.[a-z][a-z0-9]|//|::|[A-Z]{2}(?:-\d|[+^](?!\d)))"
    r"|[@$%]+[A-Za-z_]|/[A-Za-z]|[A-Za-z](?:,[A-Za-z]){2,}$)"
)
_PICTURES = r"\u2190-\u21ff\u2600-\u27bf\U0001f000-\U0001faff"  # and arrows
_SIGNS = re.compile(
    rf"(?=[-=<>|&!:+*/~^\\{{}}#;.%${_PICTURES}])(?:"  # which makes it fast
    r"(?<!\S)(?!<<|>>)(?=[^\s\w]*[&!:])[-=<>|&!:+*/~^\\]{2,}+(?!\S)|(?<!\S)~(?!\S)|;;"  # &&, !=
    rf"|(?<!\w)\\[A-Za-z]\w*|[=<>|\\^{{}}]+|#\d*|[{_PICTURES}]"  # \pos, ->, a=b, #2
    r"|(?<![\w.)\]…])\.[a-z]\w*|(?<!\w)\$(?=\s+[a-z]|\s*['\"])"  # .git
    rf"|(?<=[A-Za-z]):(?!{_GENDER}\b)(?=[A-Za-z])|(?:\*(?=[.\w])|(?<=[.\w])\*)(?!{_GENDER}\b)"  # a:b, *.x
    r"|\+(?=[A-Za-z])|(?<=[A-Za-z])(?:(?<!\+)\+(?!\+)|%)"  # a+b, X%
    r"|(?<=[A-Za-z])/(?=[\d\W]|\Z|[a-z]\d)|(?<=\d)/(?=[A-Za-z])|/(?=\.[a-z]))"  # OTP/2FA; not and/or
)
_NAMES = re.compile(  # refs/tags/, open(2)
    r"(?<![\w/.])[a-z]+(?:/[a-z]+)*/(?![\w/])|(?<![\w-])[a-z][\w-]{0,40}\(\d[a-z]?\)"
)
_LETTERS = re.compile(r"(?<![\w.])[B-DF-HJ-NP-TV-Z]{3,}(?![\w.])")  # CSS: no word that is shouted
_BRACKETS = re.compile(  # [y/N], [-]x; not w[h]ile, [all of them]
    r"\[(?=\s*+(?:[^\s\[\]]*+\s*+\](?![a-z])|[^\s\w\[\]]*+\]))"
)
_OPTION = re.compile(  # -icanon at the start or quoted, and -nt, but not the German "Wind und -wetter"
    r"(?:(?<![^\n])|(?<=\s\s\s)|(?<=[\s(][\"'`|\[])|(?<=\A[\"'`|\[]))-[A-Za-z]\w*(?![\w-])"
    r"|(?<=\s)-(?:[A-Za-z]{2}|\d)(?![\w-]|[.,]\d)"
)
_DASH = re.compile(r"(?<!-)-(?!\S)|[–—]")
_NUMBER = re.compile(r"\b[Nn](?:r|o|um\w{1,6})?[.°º\s]{1,2}(?=\d)|№\s?")
_UNIT = re.compile(
    rf"(?:%[-+#0-9$.*]{{0,12}}l{{0,2}}[A-Za-z@]|\\}}|\d(?=px|pt|r?em|v[hw]|ms|dpi|fps|[kMG]?Hz))({MEASURE})"
)
_WIDE = str.maketrans("（）", "()")
_LABEL = 5  # words: longer texts may have an abbreviation of their own language
_MNEMONIC = 4  # words of a label, in which "_" is an accelerator: "E_xit"
_MOST = 100  # that are looked for inside of words


def lost_tokens(source: str, target: str) -> list[str]:
    """Return the tokens of the source that are no words and that the target has less often."""
    label = source.count("_") == 1 and source.strip()[:1].isupper() and len(source.split()) <= _MNEMONIC
    target = _NUMBER.sub("#", target) if "#" in source else target
    lost = _tokens(source) - _tokens(target)
    kept = [one for one in lost if not (label and "_" in one)][:_MOST]
    missing = {one: min(lost[one], _count(one, source) - _count(one, target)) for one in kept}
    return [one for one in kept for _ in range(missing[one])] + _unbalanced(source, target)


def lost_units(source: str, target: str, target_words: str) -> list[str]:
    """Return the units, as in "%.1fkg" and "1px", that the target lacks. "%.1f kg" has one."""
    units = Counter(_UNIT.findall(source)) - Counter(_UNIT.findall(target))
    left = units.keys() - set(re.findall(r"[A-Za-zµ/]+", target_words))
    return [one for one in units if one in left]


def _tokens(text: str) -> Counter[str]:
    found = Counter(_SIGNS.findall(text))
    found.update("[]" * len(_BRACKETS.findall(text)))
    found.update(() if _DASH.search(text) else _OPTION.findall(text))
    found.update(_LETTERS.findall(text) if text.count(" ") < _LABEL else ())
    found.update(_NAMES.findall(text) if "/" in text or "(" in text else ())
    parts = (part.strip(_EDGES) for part in _COMPOUND.split(text))
    odd = (part for part in parts if not (part.isalpha() and part[1:].islower()))
    bare = (_OWNER.sub("", part).strip(_EDGES) for part in odd)
    found.update(one for one in bare if _NO_WORD.match(one))
    return found


def _unbalanced(source: str, target: str) -> list[str]:
    """The round bracket that lacks its partner in the target, if each has one in the source."""
    here, there = (text.translate(_WIDE) for text in (source, target))
    opened, closed = there.count("("), there.count(")")
    differ = opened != closed and 0 < here.count("(") == here.count(")")
    return ["(" if opened < closed else ")"] if differ else []


def _count(token: str, text: str) -> int:
    """How often a text has a token: a name also with other capitals, or without the s of its plural."""
    name = token.removesuffix("s").casefold() if token[0].isupper() else ""
    return text.casefold().count(name) if name else text.count(token)
