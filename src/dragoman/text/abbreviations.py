"""Words before a full stop: which of them sentencex takes for abbreviations, and which it should.

Its lists contain words such as "me", "no" and "mar". They are hidden from it where a sentence may begin, so
that it ends one there. In languages without a list of words here, only `_TITLES` are abbreviations.
"""

from __future__ import annotations

import re
from functools import cache

from dragoman.text.blank import INVISIBLE

# Marks of notes and characters that are not shown, between an end mark and a space.
_BEHIND_END = re.compile(rf"(?<=[.!?…])(?:[{INVISIBLE}*†‡¹²³⁰⁴-⁹]|\[(?:\d{{1,3}}|[a-z])\])+(?=\s)")
_ELLIPSIS = re.compile(r"…(?=\s+[^\w\s]{0,3}([^\W\d_]))")  # sentencex ends no sentence there
_SEVERAL = re.compile(r"(?<![.!?])[.!?]{2,}(?=\s+I\b)")  # nor there, before a single letter
_APOSTROPHE = re.compile(r"(?<=\w)['’](?=\w)")
_INNER = re.compile(r"(?<=\w)[)\]}>](?=\w)")  # "%(name)s" is one word
# Marks that sentencex would pair, often wrongly, and bullets. "[1]" after a full stop is a note.
_PAIRED = re.compile(r"(?!\[\d{1,3}\])[][\"'“”„«»‘’‚‛‟‹›`(){}<>•▸]|(?<!\[\d)(?<!\[\d\d)\]")
# A space, and a capital that is not an initial or a Roman number.
_NEXT = r" ?\.{1,3}[/ ]{0,3}\s[/ ¿¡]{0,3}(?![IVXLC]{2,}\b)[^\W\d_a-zß-öø-ÿ](?!\.)"
_TITLES = {  # by language; of all others ""
    "": "dr|prof|mrs?|ms|st|jr|nr",
    "it": "dr|prof|sigg?|dott|ing|avv|arch|geom|rag|mons|on|gen|col|cap|ten|magg|artt?|fig|pagg?|cfr",
    "nl": "drs?|prof|mevr|mw|dhr|hr|ir|ing|ds|mgr|mr|st|jr|nrs?|art|fig|blz|bijv|vgl|vs|resp|evt",
}
_WORDS = {
    "en": r"(?<=\w/)[a-z]|SEC|(?<=\d )(?:Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)|"
    r"(?:[A-Z]\.){1,4}[A-Z](?=\. (?:I|The|He|She|It|We|They|But|And|This|That|In|A|You)\b)|"
    r"I|[Oo][Kk]|ID|(?<!et )al|Al|art|ar[ck]|con|etc|ext?|fed|fig|id|ill|man|mar|mass?|[Mm]ay|me|med|"
    r"min|miss|no|(?<![\w,/] )No|op|ore|pen|re[fp]|sec|wash|yuk|Ken|Ida",
    "de": r"(?<=\w/)[a-z]|mich|Art|Bart|[Aa]ss|man|mag|[Oo][Kk]|Mo|Di|Sa|"
    r"(?:(?<=[Aa]m )|(?<=[Aa]b )|(?<=[Bb]is ))Fr|"
    r"Fr(?=\. (?:Ich|Du|Er|Sie|Es|Wir|Ihr|D[aeiu]\w{1,3}|Und|Aber|I[mn]|Am|Um|W\w{1,3}|Ein|Mein)\b)|"
    r"me|no|may|miss|Al|etc|us[wf]|[mc]m|ID|PS|EG|Ken|Ida|la",
    "fr": r"(?:[A-Z]\.){1,4}[A-Z](?=\. (?:Je|Le|La|Les|Ils?|Elles?|Mais|Nous|Vous|On|Ce|Cette|Une?|Et)\b)|"
    "art|vol|sec|sing|etc|ex|mm|id|sup|com|OK",
    "es": "nos?|mar|con|contra|entre|sobre|bien|auto|ante|bis|extra|mini|micro|macro|mega|super|ultra|uni?|"
    "post?|pro|pre|vice|mono|tras|en|des?|d[aio]|sub|re|in|ex|homo|poli|tri|inter|etc|ambi|as|multi|retro|para",
    "pt": "vi|ex|res|etc",
    "da": "al|med|ned|nord|eng|lab|el",
    # Of these, sentencex has lists of their own without many such words.
    **dict.fromkeys("am ar bg bn el fi gu hi hy kk kn ml mr my pa pl ru sk ta te uk".split(), "(?!)"),
}
_GERMAN_ARTICLE = r"[AaIi]m|[Vv]om|[Zz]u[mr]|[Bb]eim|[Dd](?:e[rsmn]|as|ie)|(?:ein|ihr|sein|jed)e[nmrs]?"
_ABBREVIATIONS = {  # that sentencex does not know: "Ms. Zhu", "M. Dupont", "des 18. Jahrhunderts"
    "en": r"\bMs\.(?= \w)|\b(?:[Vv]ols?|[Cc]h|[Cc]hap)\.(?= \d)",
    "it": r"\b[Nn]\.(?= \d)",
    "fr": r"\b(?:MM?|Mme|Mlle|St)\.(?= [A-Z])",
    "de": rf"\b(?:{_GERMAN_ARTICLE}) (?:\d{{1,3}}|[IVXL]+)\.(?= [A-ZÄÖÜ])"
    r"|\b\d\d?\.(?= (?:Jan|Feb|Mär|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez|Jahrh|Jh))",
}
# After these a number or a sign begins a sentence in German, where sentencex never ends one before it.
_GERMAN_NEXT = re.compile(
    r"(?<!\b[Nn]r\.)(?<![AB]d\.)(?<!\bca\.)(?<!bzw\.)(?<!vgl\.)(?<!\b[Aa]bs\.)(?<!\bArt\.)(?<!\bAbb\.)(?<!Kap\.)"
    r"(?<!Tel\.)(?<!\bTab\.)(?<!\bm[ai][nx]\.)(?<!Chr\.)(?<!geb\.)(?<!gest\.)(?<!inkl\.)(?<![Ss]tr\.)(?<!Vol\.)"
    r"(?<!Ziff\.)(?<!Anm\.)(?<!evtl\.)(?:(?<=[^\W\d_]{2}[.!?])|(?<=[^\W\d_]/[.!?]))"
    r"[/ ]{0,3} /?(?:\d|[*$%#@-]{1,3}[a-z]|[a-z](?=[a-z]*\.[a-z]{2,3}: ))"
)


def hide_abbreviations(line: str, code: str) -> str:
    """Return a line of the same length for sentencex, in which it finds the ends of sentences better."""
    line = _BEHIND_END.sub(lambda found: " " * len(found[0]), line)
    line = _ELLIPSIS.sub(lambda found: "…" if found[1].islower() else ".", line)
    line = _SEVERAL.sub(lambda found: "x" * (len(found[0]) - 1) + found[0][-1], line)
    line = _INNER.sub("x", line)
    line = _PAIRED.sub("/", _APOSTROPHE.sub("x" if code == "en" else "/", line))
    words, abbreviations = _patterns(code)
    line = words.sub(lambda found: "ŋ" * len(found[0]), line)
    line = abbreviations.sub(lambda found: found[0][:-1] + ",", line)
    return _GERMAN_NEXT.sub(lambda found: found[0][:-1] + "A", line) if code == "de" else line


def titles_and_abbreviations(code: str) -> tuple[str, str]:
    """Return patterns of titles without their full stop, and of other abbreviations with it."""
    return _TITLES.get(code, _TITLES[""]), _ABBREVIATIONS.get(code, "(?!)")


@cache
def _patterns(code: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Words that are no abbreviations, and abbreviations."""
    titles = _TITLES.get(code, _TITLES[""])
    words = _WORDS.get(code, rf"(?!(?i:{titles})\b)[^\W\d_]{{2,20}}")
    default = "(?!)" if code in _WORDS else rf"(?<![\w.-])(?i:{titles})\.(?=\s[^\W\d_a-z])"
    return re.compile(rf"(?<![\w.-])(?:{words})(?={_NEXT})"), re.compile(
        f"{default}|{_ABBREVIATIONS.get(code, default)}"
    )
