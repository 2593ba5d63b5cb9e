"""The parser of Markdown: CommonMark, tables, strikethrough and the extensions of site generators.

Its rules note where the tokens are in the text, which markdown-it-py itself does not.
"""

from __future__ import annotations

import re
from functools import cache
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Callable

    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

    BlockRule = Callable[[StateBlock, int, int, bool], bool]

_DEEPEST = 60  # blocks inside each other; deeper ones stay
_TEMPLATE = r"\{\{(?:[^}]|\}(?!\})){0,500}+\}\}|\{%(?:[^%]|%(?!\})){0,500}+%\}|\{#(?:[^#]|#(?!\})){0,500}+#\}"
_SITE = re.compile(rf"[^\s<>(){{}}]*+(?:{_TEMPLATE})[^\s<>()]*+")
_LINE = re.compile(
    rf"(?>(?:{_TEMPLATE})[ \t]*)++"  # Jekyll, Hugo, Jinja
    r"|:{3,}.*|\*\[[^\[\]]+\]:.*"  # fenced divisions, abbreviations
    r"|-{1,}8<-{1,}.*|/{3,}(?:[ \t]*[\w-]+.*)?"  # snippets and blocks of PyMdown
    r"|\[TOC\]|\[\[_TOC_\]\]"
    r"|\{/\*(?:[^*]|\*(?!/\}))*+\*/\}|\([\w:. -]+\)="  # comments of MDX, targets of MyST
    r"|<[a-z]+\s[^<>]*\bmarkdown\b[^<>]*>"  # of Kramdown
    r"|(?:!!!|\?\?\?\+?)[ \t].*|===[!+]?[ \t]*\".*"  # admonitions and tabs
)
_MODULE = re.compile(  # of JavaScript, in MDX
    r"import[ \t]+(?:[^'\"]*[ \t]from[ \t]+)?['\"][^'\"]+['\"];?[ \t]*|import[ \t]+\{[^'\"}]*"
    r"|export[ \t]+(?:(?:const|let|var|class)[ \t]+\w+[ \t]*[={]|default[ \t]+(?:async[ \t]+)?function\b"
    r"|(?:async[ \t]+)?function[ \t]*\w+\(|default[ \t]+[\w.]+;?[ \t]*$|default[ \t]*[({]|[{*]).*"
)
_RAW = re.compile(
    r"\{%-?[ \t]*(raw|highlight|comment|mermaid)\b.*|\{\{[<%][ \t]*(highlight|mermaid|math)\b.*"
)
EXPRESSION = r"\{[\w$.!]++(?:\(|\s*(?:&&|\|\||\?|=>))"  # how one of MDX begins
_OPTION = re.compile(r":[\w-]+:(?:[ \t].*)?")
_CONTINUED = re.compile(r"\[\^[^\[\]\s]+\]:|:[ \t]+\S|<[A-Z]")
_CONTAINER = ("!!!", "???", "===")
# Short, so that a run of opening braces takes no more than linear time.
_JSX_BRACES = r"\{(?:[^{}]|\{(?:[^{}]|\{[^{}]{0,200}+\}){0,200}+\}){0,200}+\}"
_JSX = re.compile(
    rf"<[A-Za-z][\w.-]*+(?:\s++(?:[\w:-]++(?:=(?:\"[^\"]*+\"|'[^']*+'|{_JSX_BRACES}))?|{_JSX_BRACES}))*+\s*+/?>"
)
_COMPONENT = re.compile(rf"(?:</[A-Z][\w.]*+\s*+>|(?=<[A-Z]){_JSX.pattern})[ \t]*")
_PLAIN = r"[^\\^_=+<>{}]{0,500}"
_FORMULA = re.compile(  # of TeX, but not words or a link in escaped brackets: "\(see below\)", "\[a\](b)"
    rf"\\(\\?)(?:\((?!(?>{_PLAIN}?[^\W\dA-Z_]{{3}}){_PLAIN}+\\+\))|\[(?!\^|{_PLAIN}+\\+\]))"
    r"(?!(?:[^\\\n{]|\{[^{}\n]*+\}|\\[^()\[\]]){0,500}?(?:(?<![\w\\])[a-z]{3,} [a-z]{2,} |\]\())"
    r"(?:[^\\\n]|\\[^()\[\]]|\n(?!\s*\n)){1,1000}?\\\1[)\]]"
    r"|\\begin\{([^{}\n]{1,40})\}(?:.|\n(?!\s*\n)){0,2000}?\\end\{\2\}"
)
_DISPLAYED = ("\\[", "\\\\[", "\\begin{")
_MARKS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("template", re.compile(_TEMPLATE)),
    ("math", re.compile(r"\$\$[^$]+\$\$|\$(?=[^\s$])(?:[^$\\\n]|\\.)+?(?<=\S)\$(?!\d)")),
    ("math", _FORMULA),
    ("note", re.compile(r"\^\[(?:[^\[\]]|\[[^\[\]]*\]){1,1000}+\](?![(\[])")),
    ("wiki", re.compile(r"!?\[\[[^\[\]\n]+\]\](?![(\[])")),
    (
        "code",
        re.compile(
            r"\{(?:/\*(?:[^*]|\*(?!/\})){0,500}+\*/|(?:new (?=[\w.]+\()|!|\.{3})[\w$][^{}\n]*"
            r"|[\w$]+(?:[.(\[?]| (?:[?+<>]|&&|\|\||[=!<>]==?) )[^{}\n]*|'[^'\n]*'|\"[^\"\n]*\"|`[^`\n]*`"
            r"|[\w:+.-]+\}(?P<role>`+)[^`]+(?P=role))(?(role)|\})"
        ),
    ),
    ("code", re.compile(r"\+\+[\w-]+(?:\+[\w-]+)*\+\+")),  # keys
    ("code", re.compile(r"\[-?@\w[^\[\]\n]*\]|(?<!\w)@(?:fig|tbl|eq|sec|lst)-[\w-]+")),  # citations of Pandoc
    ("code", re.compile(r"\\[A-Za-z]{2,}+(?:\[[^\]\n]*\])?+(?:\{[^{}\n]*\})*+")),  # raw TeX
    ("attributes", re.compile(r"\{(?:[:#.]|[ \t]*(?:[.#][\w-]|[\w-]+=))[^{}\n]*\}")),
    ("footnote", re.compile(r"\[\^[^\[\]\s]+\]:?")),
    ("jsx", _JSX),
)
ALERT = re.compile(r"\[![A-Za-z]+\][-+]?")  # of GitHub and Obsidian, at the start of a quotation
_FIRST = re.compile(rf"\[[ xX]\](?=[ \t])|{ALERT.pattern}")  # a task
_NOTES = (
    "note|tip|hint|info|important|success|question|warning|caution|attention|danger|error|failure|bug|todo|seealso"
    "|example|quote|cite|abstract|summary|tldr|details|dropdown|admonition|topic|sidebar|(?:grid-item-)?card|tab-item|tab|secondary"
)
# The title of a block, in quotes, in brackets, or behind its name.
_TITLES = (
    re.compile(rf"/{{3,}}[ \t]*(?:{_NOTES})[ \t]*\|[ \t]*(.*)"),
    re.compile(r"(?:!!!|\?\?\?\+?|===[!+]?)[^\"]*\"(.*)\"[ \t]*"),
    re.compile(rf"[`~:]{{3,}}[ \t]*\{{?(?:{_NOTES})\}}?[ \t]*\[(.*)\](?:[ \t]*\{{[^{{}}]*\}})?[ \t]*"),
    re.compile(rf"[`~:]{{3,}}[ \t]*\{{?(?:{_NOTES})\}}?[ \t]+([^\s{{\[].*?)(?:[ \t]*\{{[^{{}}]*\}})?[ \t]*"),
)
# Directives of MyST. The content of those below is Markdown.
_DIRECTIVE = re.compile(r"(`{3,}|~{3,}|:{3,})[ \t]*\{([\w:][\w:.-]*)\}.*")
_OF_TEXT = re.compile(
    rf"(?:{_NOTES}|figure|image|epigraph|highlights|pull-quote|margin|aside|deprecated|version\w+|grid(?:-item)?"
    r"(?:-card)?|tab-set|list-table|container|only|div)"
)


@cache
def parser() -> MarkdownIt:
    """The parser of blocks. Its tokens have their places, see `place_of_lines`, and no children."""
    from markdown_it import MarkdownIt, rules_block, rules_inline

    made = MarkdownIt("commonmark", {"maxNesting": _DEEPEST}).enable(["table", "strikethrough"])
    made.disable("inline")
    block, inline = made.block.ruler, made.inline.ruler
    interrupts = ["paragraph", "reference", "blockquote"]
    block.at("paragraph", _noted(rules_block.paragraph))
    block.at("heading", _noted(rules_block.heading), {"alt": interrupts})
    block.at("lheading", _noted(rules_block.lheading))
    block.at("table", _noted(rules_block.table), {"alt": ["paragraph", "reference"]})
    block.at("reference", _reference(rules_block.reference))
    block.at("html_block", _noted(rules_block.html_block), {"alt": interrupts})
    block.before("code", "continued", _continued)
    block.before("fence", "directive", _directive, {"alt": interrupts})
    block.before("fence", "container", _container, {"alt": interrupts})
    block.before("fence", "opaque", _opaque, {"alt": interrupts})
    inline.at("backticks", _located(rules_inline.backtick))
    inline.at("strikethrough", _located(rules_inline.strikethrough.tokenize))
    inline.at("emphasis", _located(rules_inline.emphasis.tokenize))
    for name in ("newline", "escape", "link", "image", "autolink", "html_inline", "entity"):
        inline.at(name, _located(getattr(rules_inline, name)))
    inline.before("escape", "mark", _located(_mark))
    helpers = {**vars(made.helpers), "parseLinkDestination": _destination}
    made.helpers = cast("Any", SimpleNamespace(**helpers))
    return made


def _destination(text: str, start: int, most: int) -> Any:
    """The address of a link, which may have templates with spaces inside."""
    from markdown_it.helpers import parseLinkDestination

    made = parseLinkDestination(text, start, most)
    if (found := _SITE.match(text, start, most)) is not None:
        made.ok, made.str, made.pos = True, found.group(), found.end()
    return made


def _noted(rule: BlockRule) -> BlockRule:
    """Note in `meta` where the text of each line of inline content begins, behind the marks of containers."""

    def run(state: StateBlock, start: int, end: int, silent: bool) -> bool:
        count = len(state.tokens)
        if not rule(state, start, end, silent):
            return False
        for token in state.tokens[count:]:
            if token.type in ("inline", "html_block") and token.map is not None:
                token.meta["starts"] = [state.bMarks[line] + state.tShift[line] for line in range(*token.map)]
        return True

    return run


def _reference(rule: BlockRule) -> BlockRule:
    """Footnotes are not references: "[^1]: See" has no address."""

    def run(state: StateBlock, start: int, end: int, silent: bool) -> bool:
        return not _line(state, start).startswith("[^") and rule(state, start, end, silent)

    return run


def _located(rule: Callable[[StateInline, bool], bool]) -> Callable[[StateInline, bool], bool]:
    """Note in `meta` what span a rule has read, and for delimiters, which the span of each is."""

    def run(state: StateInline, silent: bool) -> bool:
        start, count = state.pos, len(state.tokens)
        if not rule(state, silent):
            return False
        place = start
        for token in state.tokens[count:]:
            if token.type == "text" and "pos" in token.meta and "at" not in token.meta:
                token.meta["at"] = (place, place + len(token.content))
                place += len(token.content)
            elif token.type != "text":
                token.meta.setdefault("at", (start, state.pos))
        return True

    return run


def _mark(state: StateInline, silent: bool) -> bool:
    """Inline content that is not translated: templates, formulas, footnotes, JSX with expressions."""
    kind, match = "first", _FIRST.match(state.src) if state.pos == 0 else None
    for kind_of_form, form in _MARKS if state.src[state.pos] in "{$[<!+@\\^" else ():
        if match is None:
            kind, match = kind_of_form, form.match(state.src, state.pos, state.posMax)
    if match is None or (kind == "jsx" and "{" not in match.group()):
        return False
    if not silent:
        token = state.push("html_inline" if kind == "jsx" else "mark", "", 0)
        token.info, token.content = kind, match.group()
    state.pos = match.end()
    return True


def _line(state: StateBlock, line: int) -> str:
    return state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]].rstrip()


def _opaque(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A line of its own that stays, or several: formulas, raw text of templates, modules of JavaScript."""
    if state.is_code_block(start) or (not silent and state.sCount[start] < state.blkIndent):
        return False
    line = _line(state, start)
    after = start + 1
    if line.startswith("$$") and "$$" not in line[2:]:
        after = _until(state, start, end, "$$")
    elif (raw := _RAW.fullmatch(line)) is not None:
        after = max(after, _until(state, start, end, f"end{raw[1]}" if raw[1] else f"/{raw[2]}"))
    elif not silent and _MODULE.fullmatch(line) is not None:
        while after < end and not state.isEmpty(after):
            after += 1
    elif not silent and re.match(EXPRESSION, line) is not None:
        after, depth = start, 0
        while after < end and (after == start or depth > 0):
            depth += _line(state, after).count("{") - _line(state, after).count("}")
            after += 1
    elif _LINE.fullmatch(line) is None:
        place = state.bMarks[start] + state.tShift[start]
        form = _FORMULA if line.startswith(_DISPLAYED) else _COMPONENT
        tag = form.match(state.src, place)
        if tag is None or state.src[tag.end() : tag.end() + 1] not in ("", "\n"):
            return False
        after = start + 1 + tag.group().rstrip().count("\n")
    if after <= start:
        return False
    if not silent:
        _push_opaque(state, start, after)
        state.line = after
    return True


def _push_opaque(state: StateBlock, start: int, after: int) -> None:
    token = state.push("opaque", "", 0)
    token.map = [start, after]
    token.content = _titled(state, start, token) + state.getLines(start + 1, after, state.blkIndent, False)


def _titled(state: StateBlock, start: int, token: Token) -> str:
    """Note in `meta` where the title in a line is. Returns the line without the title."""
    line = _line(state, start)
    for form in _TITLES:
        if (found := form.fullmatch(line)) is not None:
            begin = state.bMarks[start] + state.tShift[start]
            token.meta["title"] = (begin + found.start(1), begin + found.end(1))
            return line[: found.start(1)] + line[found.end(1) :]
    return line


def _directive(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A directive of MyST with Markdown inside: the fence, options, content, the fence. Others stay."""
    if state.is_code_block(start) or state.sCount[start] < state.blkIndent:
        return False
    found = _DIRECTIVE.fullmatch(_line(state, start))
    if found is None or (found[1][0] != ":" and not _OF_TEXT.fullmatch(found[2])):
        return False
    if silent:
        return True
    close, inside = re.compile(rf"{found[1][0]}{{{len(found[1])},}}"), start + 1
    last = inside
    while last < end and not close.fullmatch(_line(state, last)):
        if not state.isEmpty(last) and state.sCount[last] < state.blkIndent:
            break
        last += 1
    after = min(last + 1, end)
    if not _OF_TEXT.fullmatch(found[2]):
        _push_opaque(state, start, after)
    else:
        while inside < last and _OPTION.fullmatch(_line(state, inside)):
            inside += 1
        _push_opaque(state, start, inside)
        _inside(state, inside, last)
        if after > last:
            _push_opaque(state, last, after)
    state.line = after
    return True


def _inside(state: StateBlock, start: int, end: int) -> None:
    """Read the blocks of some lines."""
    most, parent, state.lineMax, state.parentType = state.lineMax, state.parentType, end, "root"
    state.level += 1
    state.md.block.tokenize(state, start, end)
    state.level -= 1
    state.lineMax, state.parentType = most, parent


def _until(state: StateBlock, start: int, end: int, mark: str) -> int:
    """The number behind the next line with a mark, or 0 if the block ends before."""
    for line in range(start + 1, end):
        if not state.isEmpty(line) and state.sCount[line] < state.blkIndent:
            return 0
        if mark in _line(state, line):
            return line + 1
    return 0


def _container(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """An admonition or a tab of Python-Markdown: a line that opens it, then lines that are indented."""
    if state.is_code_block(start) or state.sCount[start] < state.blkIndent:
        return False
    line = _line(state, start)
    if not line.startswith(_CONTAINER) or _LINE.fullmatch(line) is None:
        return False
    if silent:
        return True
    token = state.push("container_open", "div", 1)
    token.map, token.content = [start, end], _titled(state, start, token)
    _indented(state, start + 1, end)
    state.push("container_close", "div", -1)
    return True


def _indented(state: StateBlock, start: int, end: int) -> None:
    """Read the blocks of the lines that are indented."""
    after = start
    while after < end and (state.isEmpty(after) or state.sCount[after] >= state.blkIndent + 4):
        after += 1
    state.blkIndent += 4
    _inside(state, start, after)
    state.blkIndent -= 4
    state.line = after


def _continued(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """The indented blocks of a component, or of a footnote or a definition behind its first paragraph."""
    if silent or not state.is_code_block(start):
        return False
    before = start - 1
    while before >= 0 and state.isEmpty(before):
        before -= 1
    while before >= 0 and not state.isEmpty(before) and not _CONTINUED.match(_line(state, before)):
        before -= 1
    if before < 0 or state.isEmpty(before):
        return False
    _indented(state, start, end)
    return True


@cache
def _state() -> type[StateInline]:
    from markdown_it.rules_inline import StateInline

    class Located(StateInline):
        def push(self, ttype: str, tag: str, nesting: Any) -> Any:
            token = super().push(ttype, tag, nesting)
            token.meta["pos"] = self.pos
            return token

    return Located


def inline_tokens(text: str, references: dict[str, Any]) -> list[Any]:
    """The tokens of inline content. `meta["at"]` is the span of each, `meta["pos"]` where it was made."""
    made = parser()
    state = _state()(text, made, {"references": references}, [])
    made.inline.tokenize(state)
    for rule in made.inline.ruler2.getRules(""):
        rule(state)
    return state.tokens
