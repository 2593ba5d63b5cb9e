"""How a text addresses its reader: formally (German Sie, French vous) or informally (du, ihr; tu).

The rules read pronouns alone. "Sie" and "Ihr" at the beginning of a German sentence may be "they" and "her"
or "you" and "your": they count only inside one. "Euer" may begin a title, "ton" be a tone: neither counts.
French "vous" is formal, also where it addresses several.
"""

from __future__ import annotations

import re
from typing import Literal

from dragoman.base.languages import base

Formality = Literal["formal", "informal"]

_WORD = r"(?<![\w’'-]){}(?!\w)"
_RULES: dict[str, dict[Formality, re.Pattern[str]]] = {
    "de": {
        # Behind a word or a comma of the same sentence, so that the capital is not that of its beginning.
        "formal": re.compile(r"(?<=[\w,;)] )(?:Sie|Ihnen|Ihr(?:e[mnrs]?)?|Ihrerseits)\b"),
        "informal": re.compile(
            _WORD.format("(?:[Dd](?:u|ich|ir|ein(?:e[mnrs]?)?)|[Ee]uch|eu(?:er|re[mnrs]?))")
        ),
    },
    "fr": {
        "formal": re.compile(r"(?<![\w’'])(?:[Vv]ous|[Vv]otre|[Vv]os|[Vv]ôtres?)\b"),
        "informal": re.compile(r"(?<![\w’'])(?:[Tt](?:u|oi|a|es|e|iens?|iennes?)\b|[Tt]['’](?=\w))"),
    },
}
LANGUAGES = tuple(_RULES)


def formality_of(text: str, language: str) -> Formality | None:
    """Return how a text addresses its reader, or None if it does not, or does so in both ways.

    `language` is a code such as "de"; a language without rules has no formality.
    """
    rules = _RULES.get(base(language))
    found = [name for name, rule in rules.items() if rule.search(text)] if rules else []
    return found[0] if len(found) == 1 else None
