"""Where the elements of an HTML file end, also unclosed ones, and which of them delimit text."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from dragoman.documents.markup.html.tokens import HtmlToken

VOID = frozenset("area base br col embed hr img input link meta param source track wbr".split())
BLOCK = frozenset(
    "address article aside audio blockquote body canvas caption center col colgroup datalist dd details"
    " dialog dir div dl dt fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 head"
    " header hgroup hr html legend li listing main menu nav noframes noscript object ol optgroup option p"
    " plaintext pre search section select summary table tbody td template tfoot th thead title tr ul video"
    " xmp".split()
)
_NOT_IN_P = BLOCK - frozenset(
    "audio canvas datalist noscript object option optgroup select template video".split()
)
_GROUPS_OF_ROWS = ("thead", "tbody", "tfoot")
# A start tag ends an open element of these names, unless one of those names is nearer.
_ENDS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "li": (("li",), ("ul", "ol", "menu", "dir")),
    **dict.fromkeys(("dd", "dt"), (("dd", "dt"), ("dl",))),
    "option": (("option",), ("select", "optgroup", "datalist")),
    "optgroup": (("optgroup", "option"), ("select",)),
    "tr": (("tr", "caption", "colgroup"), ("table",)),
    **dict.fromkeys(("td", "th"), (("td", "th"), ("tr", "table"))),
    **dict.fromkeys(_GROUPS_OF_ROWS, ((*_GROUPS_OF_ROWS, "caption", "colgroup"), ("table",))),
    **dict.fromkeys(("rt", "rp"), (("rt", "rp"), ("ruby",))),
    "body": (("head",), ("html",)),
}
_AROUND_P = ("table", "td", "th", "caption", "button", "object", "template", "html")
_DEEPEST = 512  # elements between an end and its start; browsers have the same limit


def extents(found: Sequence[HtmlToken], xml: bool) -> dict[int, int]:
    """For the number of each start tag, the number of the token behind its element."""
    ends: dict[int, int] = {}
    opened: list[int] = []

    def close(names: Collection[str], until: Collection[str], place: int, behind: int) -> None:
        for depth in range(len(opened) - 1, max(-1, len(opened) - 1 - _DEEPEST), -1):
            name = found[opened[depth]].name
            if name in names:
                ends.update(dict.fromkeys(opened[depth:], place))
                ends[opened[depth]] = behind
                del opened[depth:]
                return
            if name in until:
                return

    for place, token in enumerate(found):
        if token.kind == "start":
            if not xml and token.name in _NOT_IN_P:
                foreign = ("svg", "math") if token.name == "title" else ()  # where others end the drawing
                close(("p",), (*_AROUND_P, *foreign), place, place)
            if not xml and token.name in _ENDS:
                close(*_ENDS[token.name], place, place)
            if token.name in VOID or (token.closed and (xml or token.name in ("svg", "math"))):
                ends[place] = place + 1
            else:
                opened.append(place)
        elif token.kind == "end":
            close((token.name,), () if token.name in BLOCK else BLOCK, place, place + 1)
    ends.update(dict.fromkeys(opened, len(found)))
    return ends
