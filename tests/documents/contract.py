"""The formats and a small file of each, with all kinds of content that the format has.

A new format is a row of `CASES`. tests/documents/test_contract.py holds it to the promises.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field

from hypothesis import strategies as st

from dragoman.documents.formats import FORMATS, Languages
from dragoman.documents.segment import Document
from tests.documents.apple import test_strings, test_stringsdict, test_xcstrings
from tests.documents.markup.html import test_html
from tests.documents.markup.markdown import test_markdown
from tests.documents.markup.rst import test_rst
from tests.documents.office import office_files as office
from tests.documents.office import test_docx, test_opendocument
from tests.documents.strings import test_android, test_json, test_resx, test_yaml
from tests.documents.subtitles import test_subtitles
from tests.documents.tables import test_csv
from tests.documents.xliff import test_qt, test_tmx
from tests.documents.xliff.xliff_files import V12, V20, files2, files12

_PLURAL = "{n, plural, one {# boat} other {# boats}}"
_BODY = (
    '<w:p><w:r><w:t xml:space="preserve">The </w:t></w:r><w:r><w:rPr><w:b/></w:rPr><w:t>old</w:t></w:r>'
    '<w:hyperlink r:id="rId5"><w:r><w:t xml:space="preserve"> boat</w:t></w:r></w:hyperlink>'
    "<w:r><w:tab/><w:t>leaves.</w:t></w:r>"
    "<w:r><w:drawing><w:txbxContent><w:p><w:r><w:t>Inside</w:t></w:r></w:p></w:txbxContent></w:drawing></w:r>"
    "</w:p><w:p><w:r><w:t> </w:t></w:r></w:p><w:p/><w:p><w:r><w:t>5 nets &amp; ropes</w:t></w:r></w:p>"
)
_NOTE = (
    '<text:note text:note-class="footnote"><text:note-citation>1</text:note-citation>'
    "<text:note-body><text:p>Inside</text:p></text:note-body></text:note>"
)
_ODT_BODY = (
    '<text:h>The <text:span text:style-name="T1">old</text:span><text:a xlink:href="x"> boat</text:a>'
    f"<text:tab/>leaves.{_NOTE}</text:h><text:p> </text:p><text:p/><text:p>5 nets &amp; ropes</text:p>"
)
_ODT_STYLES = (
    '<style:style style:name="T1" style:family="text"><style:text-properties fo:font-weight="bold"/>'
    "</style:style>"
)
_SLIDE = (
    '<p:sp><p:nvSpPr><p:cNvPr id="2" name="Box" descr="A map of it"/></p:nvSpPr><p:txBody>'
    '<a:p><a:r><a:t>The </a:t></a:r><a:r><a:rPr b="1"/><a:t>old</a:t></a:r><a:r><a:t> boat</a:t></a:r>'
    '<a:br/><a:r><a:t>leaves.</a:t></a:r></a:p><a:p/><a:p><a:fld type="slidenum"><a:t>2</a:t></a:fld></a:p>'
    "<a:p><a:r><a:t>5 nets &amp; ropes</a:t></a:r></a:p></p:txBody></p:sp>"
)
_STRINGS = (
    "<si><t>5 nets &amp; ropes</t></si><si><r><t>The </t></r><r><rPr><b/></rPr><t>old</t></r>"
    '<r><t xml:space="preserve"> boat leaves._x000D_\nAt 5.</t></r></si><si><t>PN-12</t></si><si><t/></si>'
)
_HEADER = "<headerFooter><oddHeader>&amp;LReport 3&amp;RPage &amp;P</oddHeader></headerFooter>"
_CELLS = (
    '<table:table table:name="Boats"><table:table-row>'
    f'<table:table-cell office:value-type="string">{_ODT_BODY}</table:table-cell>'
    '<table:table-cell office:value-type="float" office:value="5"><text:p>5 m</text:p></table:table-cell>'
    "</table:table-row></table:table>"
)
_PAGE = (
    '<draw:page draw:name="one"><draw:frame><svg:title>A map of it</svg:title>'
    f"<draw:text-box>{_ODT_BODY}</draw:text-box></draw:frame></draw:page>"
)
_CHAPTER = (
    "<head><title>The old boat</title></head><body><p>The <b>old</b> boat<br/>leaves &amp; at 5.</p>"
    '<img src="m.png" alt="A map"/><nav epub:type="page-list"><ol><li>iv</li></ol></nav></body>'
)
_ENTITY = '<!DOCTYPE a [<!ENTITY b "boom">]><a>&b;</a>'


@dataclass(frozen=True)
class Case:
    """A format under contract.

    `done` are the translations of people in the sample, for formats that hold both languages. `states` are
    files of "One boat" with the translation "Ein Kahn" in each state, and the flag that replaces it: "always"
    for a draft, "several" if one flag is not enough. `words`: a mark can hold reasons. `thorough`: what is
    generated or hostile is mostly left to the thorough tests. `bad` pairs files with a part of the message
    that refuses them. `encodings` are those that the sample may be written
    in, none for zipped formats. `kept` must be in every translation as often as in the sample. `files`
    makes others,
    `hostile` are texts that took parsers much time, and `seen` is what another program sees in a file besides
    the case of letters.
    """

    name: str
    format: str
    data: bytes
    segments: int
    kept: tuple[str, ...]
    done: tuple[str, ...] | None = None
    states: tuple[tuple[str, str], ...] = ()
    words: bool = True
    thorough: bool = False
    encodings: tuple[str, ...] = ("utf-8", "utf-8-sig", "utf-16", "utf-32")
    small: tuple[str, ...] = ()
    bad: tuple[tuple[bytes, str], ...] = field(default=(), repr=False)
    hostile: tuple[str, ...] = field(default=(), repr=False)
    files: st.SearchStrategy[bytes] | None = field(default=None, repr=False)
    seen: Callable[[bytes], object] = lambda data: None

    def parse(self, data: bytes | None = None) -> Document:
        return FORMATS[self.format].parse(self.data if data is None else data, Languages("en", "de"))

    @property
    def zipped(self) -> bool:
        return not self.encodings

    def parts(self, data: bytes) -> dict[str, bytes]:
        """The members of a zipped file, each inflated; any other file is one part."""
        if not self.zipped:
            return {"": data}
        with zipfile.ZipFile(io.BytesIO(data)) as package:
            assert package.testzip() is None
            return {name: package.read(name) for name in package.namelist()}


def _refused(text: str, message: str) -> tuple[bytes, str]:
    return text.encode(), message


def _po(flags: str, old: str = "") -> str:
    return f'{flags}{old}msgid "One boat"\nmsgstr "Ein Kahn"\n'


def _xliff12(when: str, target: str = "", unit: str = "", inside: str = "") -> tuple[str, str]:
    return (
        f'<xliff xmlns="{V12}" version="1.2"><file source-language="en" target-language="de"><body>\n'
        f'<trans-unit id="1"{unit} xmlns:mq="MQXliff" xmlns:sdl="http://sdl.com/FileTypes/SdlXliff/1.0">'
        + (inside or f"<source>One boat</source><target{target}>Ein Kahn</target>")
        + "</trans-unit>\n</body></file></xliff>",
        when,
    )


def _conf(state: str) -> str:
    """The definition of a segment in SDLXLIFF, in this state."""
    return _LOCKED.replace('conf="Draft" locked="true"', f'conf="{state}"')


def _xliff2(when: str, segment: str = "", unit: str = "") -> tuple[str, str]:
    return (
        f'<xliff xmlns="{V20}" version="2.1" srcLang="en" trgLang="de"><file id="f"><unit id="1"{unit}>\n'
        f"<segment{segment}><source>One boat</source><target>Ein Kahn</target></segment></unit></file>"
        "</xliff>",
        when,
    )


_SEGMENTED = '<source>One boat</source><seg-source><mrk mtype="seg" mid="1">One boat</mrk></seg-source>'
_LOCKED = (
    '<target><mrk mtype="seg" mid="1">Ein Kahn</mrk></target>'
    '<sdl:seg-defs><sdl:seg id="1" conf="Draft" locked="true"/></sdl:seg-defs>'
)
_TMX = (
    '<tmx version="1.4"><header srclang="en"/><body><tu><tuv xml:lang="en"><seg>One boat</seg></tuv>'
    '<tuv xml:lang="de">{}<seg>Ein Kahn</seg></tuv></tu></body></tmx>'
)
_QT = (
    "<TS><context><name>a</name><message><source>One boat</source>"
    "<translation{}>Ein Kahn</translation></message></context></TS>"
)
_XCSTRINGS = (
    '{{"sourceLanguage": "en", "strings": {{"One boat": {{"localizations": {{"de": {{"stringUnit":'
    ' {{"state": "{}", "value": "Ein Kahn"}}}}}}}}}}}}'
)
_NOT_UTF8 = (b"One\n\xff\xfetwo", "line 2: not utf-8")
_NOT_XML = (
    (b"", "line 1: not well-formed"),
    (b"<a>\n<b>\n</a>", "line 3: not well-formed"),
    (b"<!DOCTYPE a [\n<!ENTITY b 'c'>]><a>&b;</a>", "line 2: an entity is declared"),
    (b"<a>" * 1001 + b"</a>" * 1001, "line 1: more than 1,000 elements inside each other"),
    (b'<?xml version="1.0" encoding="klingon"?><a/>', "unknown encoding"),
)
CASES = [
    Case(
        "text",
        "text",
        b"The boats lie in the harbour until\nthe storm is over.\n\n- a rope\n- 2 lamps\n\n-----\n  \n"
        b"Name:\tAnn\n",
        4,
        kept=("-----", "\t", "\n- "),
        small=("", "\n", "  \n\t"),
        bad=(_NOT_UTF8,),
    ),
    Case(
        "markdown",
        "markdown",
        b"---\ntitle: The boat\ndate: 2026-01-02\n---\n# The *old* boat\n\nSee [the map][map] `code` and\n"
        b"![a picture](a.png) <b>now</b>.\n\n"
        b"| Name | Age |\n|---|---|\n| Ann | 5 nets |\n\n```\nx = 1\n```\n\n> - quoted\n\n[map]: /m\n\n"
        b'<p align="left">A <b>net</b> &amp;\n<img alt="ropes" src="r.png"></p>\n\n!!! note "The tide"\n'
        b"    Of [[Port|the port]] {{< tide >}}\n",
        13,
        thorough=True,
        kept=(
            "---\ntitle: ",
            "date: 2026-01-02\n---\n",
            "](a.png)",
            '<p align="left">',
            'src="r.png"',
            "</p>",
            "{{< tide >}}",
            "[[Port|",
            "!!! note",
            "[map]: /m",
            "x = 1",
            "> - ",
            "|---|---|",
            "`code`",
        ),
        hostile=test_markdown.HOSTILE,
        files=test_markdown.FILES.map(str.encode),
        small=("", "\n", "---\n"),
        bad=(_NOT_UTF8,),
    ),
    Case(
        "rst",
        "rst",
        b".. For the sign.\n\nThe harbour\n===========\n\n.. image:: a.png\n   :alt: A map of 2 nets\n\n"
        b"The *old* boat of `the harbour`_ leaves `at five <t.html>`_, with\n``x = 1`` and [1]_ nets::\n\n"
        b"    x = 1\n\n- One boat\n\n  1. Two\n\n:param n: Three nets\n\n"
        b"+-------+--------+\n| Name  | A rope |\n+=======+========+\n"
        b"| Ann   | 5 nets |\n+-------+--------+\n\n"
        b".. note:: The tide\n   :name: n\n\n   Comes in.\n\n.. raw:: html\n\n   <b>\n\n.. [1] Of people\n",
        13,
        thorough=True,
        kept=(
            ".. image:: a.png\n   :alt: ",
            "<t.html>`_",
            "``x = 1``",
            "::\n\n    x = 1\n",
            ":param n: ",
            ".. [1] ",
            "+=======",
            ".. note:: ",
            "   :name: n\n",
            ".. raw:: html\n\n   <b>\n",
        ),
        hostile=test_rst.HOSTILE,
        small=("", "\n", "..", "::", "=", "|", "- ", "+-+\n| |\n+-+", "= =", "*", "\\", ".. a::", ":a:"),
        bad=(_NOT_UTF8,),
    ),
    Case(
        "html",
        "html",
        b'<!doctype html>\n<html lang="en"><head><title>Boats &amp; nets</title></head><body>\n'
        b"<p>The <b>old</b> boat"
        b'<br>leaves <img alt="A map" src="m.png"> at 5.</p><p> </p><script>no()</script>'
        b"<p>Press <kbd>Esc</kbd>.</p></body></html>\n",
        4,
        thorough=True,
        kept=("<b>", "</b>", "<br>", 'src="m.png"', "<script>no()</script>", "<kbd>Esc</kbd>", "<p> </p>"),
        hostile=test_html.HOSTILE,
        files=test_html.FILES.map(str.encode),
        seen=lambda data: [tag.lower() for tag in test_html.Tags(data.decode()).tags],
        small=("", "\n", "<p>"),
        bad=(
            (b"<p>a\n\xff", "line 2: not utf-8"),
            (b"<meta charset=klingon><p>a", "unknown encoding"),
            (b"<meta charset=iso-2022-jp>\x1b$B\x1b(B\x1b(B", "cannot be written back"),
        ),
    ),
    Case(
        "po",
        "po",
        (
            b'msgid ""\nmsgstr ""\n"Language: de\\n"\n"Content-Type: text/plain; charset=UTF-8\\n"\n'
            b'"Plural-Forms: nplurals=2; plural=(n != 1);\\n"\n\n'
            b'# Of people.\n#. For the sign.\n#: a.c:1\n#, c-format\nmsgctxt "sign"\nmsgid "At %s."\n'
            b'msgstr "Um %s."\n\nmsgid "One boat"\nmsgid_plural "%d boats"\nmsgstr[0] ""\nmsgstr[1] ""\n\n'
            b'msgid ""\n"2 lines\\n"\n"\\"more\\""\nmsgstr ""\n\n#~ msgid "Old"\n#~ msgstr "Alt"\n'
        ),
        4,
        kept=('msgid "At %s."', "# Of people.", '#~ msgid "Old"', 'msgctxt "sign"'),
        done=("Um %s.",),
        states=(
            (_po(""), "retranslate"),
            (_po("# By Ada.\n"), "retranslate"),
            (_po("#, fuzzy\n"), "always"),
            (_po("#, fuzzy, c-format\n", '#| msgid "A boat"\n'), "always"),
            (_po("# dragoman: number differs: 5\n#, fuzzy\n"), "always"),
        ),
        encodings=("utf-8", "utf-8-sig"),
        small=("", "\n\n", "# nothing\n", 'msgid ""\nmsgstr ""\n'),
        bad=(
            _refused('msgid "a\nmsgstr "b"\n', "line 1: the string has no end"),
            _refused('\nmsgid "a"\n', "line 2: msgid without msgstr"),
            _refused('"a"\n', "line 1: a string without a keyword"),
        ),
    ),
    Case(
        "xliff 1.2",
        "xliff",
        (
            f'<?xml version="1.0"?>\n<xliff xmlns="{V12}" version="1.2">\n<file source-language="en"'
            ' target-language="de"><body>\n'
            '<trans-unit id="1">\n<source>The <g id="1">old</g> boat <x id="2"/></source>\n<note>n</note>\n'
            "</trans-unit>\n"
            '<trans-unit id="2">\n<source>5 nets &amp; ropes</source>\n'
            '<target state="final">5 Netze</target>\n'
            '</trans-unit>\n<trans-unit id="3"><source> </source></trans-unit>\n'
            '<trans-unit id="4">\n<source>One. Two.</source>\n'
            '<seg-source><mrk mtype="seg" mid="1">One.</mrk> '
            '<mrk mtype="seg" mid="2">Two.</mrk></seg-source>\n</trans-unit>\n</body></file></xliff>\n'
        ).encode(),
        4,
        kept=("<note>n</note>", "<source> </source>", '<mrk mtype="seg" mid="2">Two.</mrk>'),
        files=files12(),
        done=("5 Netze",),
        states=(
            _xliff12("retranslate"),
            *(
                _xliff12("retranslate", f' state="{state}"')
                for state in (
                    *("translated", "x-own", "needs-adaptation", "needs-l10n", "needs-review-adaptation"),
                    *("needs-review-l10n", "needs-review-translation"),
                )
            ),
            _xliff12("retranslate", "", ' approved="no"'),
            _xliff12("retranslate", ' state-qualifier="mt-suggestion"'),
            _xliff12("always", ' state="new"'),
            _xliff12("always", ' state="needs-translation"', ' approved="no"'),
            _xliff12("approved", "", ' approved="yes"'),
            _xliff12("approved", ' state="new"', ' approved="yes"'),
            _xliff12("approved", ' state="signed-off"'),
            _xliff12("final", ' state="final"'),
            _xliff12("final", ' state="final"', ' approved="no"'),
            _xliff12("several", ' state="final"', ' approved="yes"'),
            _xliff12("locked", "", ' mq:locked="locked"'),
            _xliff12("retranslate", "", ' mq:locked="false"'),
            _xliff12("approved", "", ' mq:status="Proofread"'),
            _xliff12("approved", "", ' mq:status="ManuallyConfirmed"'),
            _xliff12("retranslate", "", ' mq:status="Pretranslated"'),
            _xliff12("always", "", ' mq:status="NotStarted"'),
            _xliff12("retranslate", "", ' mq:status="MachineTranslated"'),
            _xliff12("approved", "", ' m:confirmed="2" xmlns:m="http://www.memsource.com/mxlf/2.0"'),
            _xliff12("retranslate", "", ' m:confirmed="0" xmlns:m="http://www.memsource.com/mxlf/2.0"'),
            _xliff12("locked", "", ' m:locked="true" xmlns:m="http://www.memsource.com/mxlf/2.0"'),
            _xliff12("always", inside=_SEGMENTED + _LOCKED.replace('conf="Draft" locked="true"', "")),
            _xliff12("always", inside=_SEGMENTED + _conf('Draft" origin="source')),
            _xliff12("retranslate", inside=_SEGMENTED + _conf("Draft")),
            _xliff12("approved", inside=_SEGMENTED + _conf("ApprovedSignOff")),
            _xliff12("approved", inside=_SEGMENTED + _conf("ApprovedTranslation")),
            _xliff12("retranslate", inside=_SEGMENTED + _conf("RejectedSignOff")),
            _xliff12("locked", inside=_SEGMENTED + _LOCKED),
        ),
        small=('<xliff version="1.2"/>', "<xliff/>"),
        bad=(
            *_NOT_XML,
            _refused("<html/>", "line 1: <html> is not <xliff>"),
            _refused('\n<xliff version="0.9"/>', "line 2: version '0.9' of XLIFF"),
            _refused(
                '<xliff version="1.2">\n<file source-language="en" target-language="fr"><body/></file>'
                "</xliff>",
                "line 2: target-language is 'fr', not 'de'",
            ),
        ),
    ),
    Case(
        "xliff 2",
        "xliff",
        (
            f'<xliff xmlns="{V20}" version="2.1" srcLang="en" trgLang="de">\n<file id="f">\n'
            '<unit id="1">\n<segment>\n<source>The <pc id="1">old</pc> boat <ph id="2"/></source>\n'
            "</segment>\n"
            '</unit>\n<unit id="2">\n<segment state="final">\n<source>5 nets &amp; ropes</source>\n'
            '<target>5 Netze</target>\n</segment>\n</unit>\n<unit id="3"><segment><source> </source>'
            "</segment>"
            '</unit>\n<unit id="4">\n<segment><source>One.</source></segment>\n'
            "<ignorable><source> </source></ignorable>\n<segment><source>Two.</source></segment>\n</unit>\n"
            "</file></xliff>\n"
        ).encode(),
        4,
        kept=('<unit id="3"><segment><source> </source></segment></unit>', "<source>Two.</source>"),
        files=files2(),
        done=("5 Netze",),
        states=(
            _xliff2("retranslate"),
            _xliff2("retranslate", ' state="translated"'),
            _xliff2("retranslate", ' state="reviewed"'),
            _xliff2("always", ' state="initial"'),
            _xliff2("final", ' state="final"'),
            _xliff2("locked", "", ' xmlns:m="http://www.memsource.com/mxlf/2.0" m:locked="true"'),
        ),
        bad=(
            *_NOT_XML,
            _refused('<xliff version="3.0"/>', "line 1: version '3.0' of XLIFF"),
            _refused(f'<xliff version="2.9" xmlns="{V20}"/>', "line 1: version='2.9'"),
            _refused(
                f'<xliff version="2.0" srcLang="en" trgLang="fr" xmlns="{V20}"><file id="f"><unit id="u">'
                "<segment><source/></segment></unit></file></xliff>",
                "line 1: trgLang is 'fr', not 'de'",
            ),
        ),
    ),
    Case(
        "tmx",
        "tmx",
        (
            b'<?xml version="1.0"?>\n<tmx version="1.4">\n<header srclang="en"/>\n<body>\n'
            b'<tu>\n<tuv xml:lang="en"><seg>The <hi>old</hi> boat <ph>{0}</ph></seg>'
            b'</tuv>\n</tu>\n<tu><note>n</note>\n<tuv xml:lang="en"><seg>5 nets &amp; ropes</seg></tuv>\n'
            b'<tuv xml:lang="de-DE"><seg>5 Netze</seg></tuv>\n</tu>\n'
            b'<tu><tuv xml:lang="en"><seg> </seg></tuv></tu>\n</body>\n</tmx>\n'
        ),
        2,
        kept=("<note>n</note>", "<seg> </seg>"),
        files=test_tmx.files(),
        done=("5 Netze",),
        states=(
            (_TMX.format(""), "retranslate"),
            (_TMX.format('<prop type="dragoman">number differs: 5</prop>'), "retranslate"),
        ),
        small=("<tmx/>", "<tmx><header/><body/></tmx>"),
        bad=(
            *_NOT_XML,
            _refused("\n<xliff/>", "line 2: <xliff> is not <tmx>"),
            _refused(
                '<tmx><body>\n<tu><tuv lang="fr"><seg>a</seg></tuv></tu></body></tmx>',
                "line 2: no text in 'en'",
            ),
        ),
    ),
    Case(
        "qt",
        "qt",
        (
            b'<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE TS>\n<TS version="2.1" language="de_DE">\n'
            b"<context>\n    <name>Main</name>\n    <message>\n        <source>5 nets &amp; ropes</source>\n"
            b'        <comment>sign</comment>\n        <translation type="unfinished"></translation>\n'
            b"    </message>\n    <message>\n        <source>One boat</source>\n"
            b"        <translatorcomment>By Ada</translatorcomment>\n"
            b"        <translation>Ein Boot</translation>\n    </message>\n"
            b'    <message numerus="yes">\n        <source>%n boat(s) &apos;here&apos;</source>\n'
            b'        <translation type="unfinished">\n            <numerusform></numerusform>\n'
            b"            <numerusform></numerusform>\n        </translation>\n    </message>\n"
            b'    <message>\n        <source>Two<byte value="x7"/> lines\nhere</source>\n    </message>\n'
            b'    <message>\n        <source>Old</source>\n        <translation type="vanished">Alt'
            b"</translation>\n    </message>\n</context>\n</TS>\n"
        ),
        5,
        thorough=True,
        kept=("By Ada", '<translation type="vanished">Alt', "<comment>sign</comment>", "%n boat(s)"),
        files=test_qt.files(),
        done=("Ein Boot",),
        states=(
            (_QT.format(""), "retranslate"),
            (_QT.format(' type="unfinished"'), "always"),
            (
                _QT.replace("<tr", "<translatorcomment>Ada</translatorcomment><tr", 1).format(""),
                "retranslate",
            ),
        ),
        encodings=("utf-8", "utf-8-sig"),
        small=('<TS version="1.1"/>', "<TS><context><name/></context></TS>"),
        bad=(
            _NOT_XML[1],
            _NOT_XML[2],
            _refused("\n<xliff/>", "line 2: <xliff> is not <TS>"),
            _refused("import { a } from 'b'\n", "line 1: not XML"),
            _refused('<TS version="2.1"\n language="fr"/>', "line 1: language is 'fr', not 'de'"),
        ),
    ),
    Case(
        "srt",
        "srt",
        b"1\n00:00:00,000 --> 00:00:01,000\nI have waited <i>here</i>\n\n2\n00:00:01,100 --> "
        b"00:00:02,000\nfor 3 days.\n\n"
        b"3\n00:00:04,000 --> 00:00:05,000\n- Hi, Tom.\n- Hello.\n\n4\n00:00:06,000 --> 00:00:07,000\n"
        b"{\\an8}[thunder]\n",
        4,
        kept=("00:00:01,100 --> 00:00:02,000", "<i>", "</i>", "{\\an8}["),
        files=test_subtitles.SRT,
        seen=test_subtitles.timings,
        small=("", "\n"),
        bad=(
            (b"1\n00:00:01 --> 00:00:02\nHi\n", "line 2: not a timing"),
            (b"Just a text.\n", "no cue"),
            _NOT_UTF8,
        ),
    ),
    Case(
        "vtt",
        "vtt",
        b"WEBVTT\n\nNOTE\nThis stays.\n\nintro\n00:01.000 --> 00:02.000 align:start\n"
        b"<v Anna>Tom &amp; I <c.loud>were</c>\n\n"
        b"00:02.100 --> 00:03.000\n<v Anna>there 3 times.\n\n00:03.100 --> 00:04.000\n<v Tom>And me.</v>\n",
        2,
        kept=(
            "NOTE\nThis stays.",
            "intro\n00:01.000 --> 00:02.000 align:start",
            "<c.loud>",
            "</c>",
            "<v Anna>",
        ),
        files=test_subtitles.VTT,
        small=("WEBVTT", "WEBVTT\n"),
        bad=((b"WEBVTT\n\n00:01.0x --> 5\nHi\n", "line 3: not a timing"), _NOT_UTF8),
    ),
    Case(
        "json",
        "json",
        (
            '{\n "a": {"b": ["The 3 boats", 5, null]},\n "n": "' + _PLURAL + '",\n'
            ' "q": "A \\"net\\" for {name}",'
            '\n "e": "", "s": " "\n}\n'
        ).encode(),
        4,
        kept=('"b": [', "5, null", '"e": ""', '"s": " "', "{n, plural, one {", "{name}"),
        files=test_json.FILES,
        small=("12", "{}", '""', "[]"),
        bad=(
            _refused('{"a":\n"b', "line 2: not JSON"),
            _refused("[\n" * 999, "line 201: nested more than 200 deep"),
            (b'{"a":\n"\xfc"}', "line 2: not utf-8"),
        ),
    ),
    Case(
        "properties",
        "properties",
        (
            "# A licence.\n\n! Shown at night.\nboat.leaves = The boat leaves, \\\n  at 5\nempty =\n"
            f"plural = {_PLURAL}\nname: for {{0}} & {{1}}\n"
        ).encode(),
        3,
        kept=("# A licence.", "boat.leaves = ", "empty =\n", "{0}", "{1}"),
        small=("", "\n", "#", "=", "\\", "a\\", "a=b\\", " \\\n\n", "a=\\\r\n\\\r\nb"),
        bad=((b"# a\n\nb=\\u00f", r"line 3: incomplete \\uXXXX"),),
    ),
    Case(
        "yaml",
        "yaml",
        (
            b"# A locale.\nen:\n  title: &t The 3 boats  # here\n  again: *t\n  for: 'For %{name}'\n"
            b"  text: >-\n    A text that is long\n    and folded.\n"
            b"  lines: |\n    One line.\n    Two lines.\n\n"
            b"  order: [ :year, :month ]\n  on: yes\n  count: 5\n  nets:\n    one: A net\n"
            b'    other: "%{count} nets"\n'
        ),
        6,
        thorough=True,
        kept=("  # here\n", "&t ", "*t", "%{name}", "[ :year, :month ]", "on: yes", "count: 5"),
        hostile=test_yaml.HOSTILE,
        files=test_yaml.locale_files(),
        seen=test_yaml.shape,
        small=("", "\n", "---\n...\n", "a", "5", "[]", "{}", "a: b\n", "- x\n", "? a\n: b\n", "--- |\n a b"),
        bad=(
            _refused("a:\n - b\n c: d\n", "line 3: not YAML"),
            _refused("[" * 300, "nested more than 200 deep"),
            _refused("en: {a: One}\nde: {a: Eins}\n", "line 2: the file has both"),
            _NOT_UTF8,
        ),
    ),
    Case(
        "android",
        "android",
        (
            b'<?xml version="1.0"?>\n<resources xmlns:xliff="urn:oasis:names:tc:xliff:document:1.2">\n'
            b"    <!-- Shown at night. -->\n"
            b'    <string name="a">The <b>old</b> boat\\n at <xliff:g id="t">%1$s</xliff:g></string>\n'
            b'    <string name="n" translatable="false">Brand</string>\n    <string name="e"/>\n'
            b'    <string name="c"><![CDATA[<p>5 nets</p>]]></string>\n'
            b'    <plurals name="p">\n        <item quantity="one">One boat</item>\n'
            b'        <item quantity="other">%d boats</item>\n    </plurals>\n'
            b'    <string-array name="d">\n        <item>"Monday  "</item>\n        <item>@null</item>\n'
            b"    </string-array>\n</resources>\n"
        ),
        5,
        kept=(
            "Brand</string>",
            "<b>",
            "</b>",
            '<xliff:g id="t">%1$s</xliff:g>',
            "<![CDATA[",
            "<item>@null</item>",
        ),
        files=test_android.FILES,
        small=("<resources/>", '<resources><string name="a">@string/x</string></resources>'),
        bad=(
            *_NOT_XML,
            _refused("<manifest/>", "line 1: <manifest> is not Android's <resources>"),
            _refused('<resources><string name="a">\\u12</string></resources>', r"line 1: incomplete \\uXXXX"),
        ),
    ),
    Case(
        "resx",
        "resx",
        (
            b'<?xml version="1.0" encoding="utf-8"?>\n<root>\n  <resheader name="version">\n    <value>2.0'
            b'</value>\n  </resheader>\n  <data name="A" xml:space="preserve">\n    <value>5 nets &amp; {0}'
            b"</value>\n    <comment>Sign</comment>\n  </data>\n"
            b'  <data name="B" type="System.Drawing.Size, System.Drawing">\n    <value>1, 2</value>\n'
            b'  </data>\n  <data name="C"><value><![CDATA[One <b>boat</b>]]></value></data>\n'
            b'  <data name="D"><value>One boat</value></data>\n</root>\n'
        ),
        3,
        thorough=True,
        kept=("<value>2.0", "<value>1, 2</value>", "<comment>Sign</comment>", "{0}", "<![CDATA["),
        files=test_resx.FILES.map(str.encode),
        seen=lambda data: [*test_resx.seen(data.decode())],
        small=("<root/>", "<root><data/></root>", "<root><data name='a'><value/></data></root>"),
        bad=(*_NOT_XML, _refused("\n<resources/>", "line 2: <resources> is not <root>")),
    ),
    Case(
        "strings",
        "strings",
        (
            b'/* Shown\n   at night. */\n"a" = "The 3 \\"boats\\" of %@";\n// Two\nkey.b = word;\n"c";\n'
            b'"d" = "";\n"e" = "Two\nlines";\n"f"="One boat";\n'
        ),
        4,
        thorough=True,
        kept=("/* Shown\n   at night. */", "// Two", "key.b = ", '"c";', '"d" = "";', "%@"),
        files=test_strings.FILES,
        seen=lambda data: [*test_strings.loaded(data.decode())],
        small=("", "\n", "/* x */", "{ }", '"a" = "";'),
        bad=(_refused('"a" = "b";\n"c" = d', 'line 2: expected ";"'), _NOT_UTF8),
    ),
    Case(
        "stringsdict",
        "stringsdict",
        test_stringsdict.file({**test_stringsdict.DOGS, "boat": {"a": "One boat", "b": "5 nets"}}).encode(),
        4,
        kept=("%1$#@dogs@", "<string>NSStringPluralRuleType</string>", "%d", "<key>one</key>"),
        small=("<plist/>", "<plist><dict/></plist>", "<plist><dict><key>a</key></dict></plist>"),
        bad=(
            *_NOT_XML,
            _refused("\n<resources/>", "line 2: <resources> is not <plist>"),
            (b"bplist00\xd1", "line 1: a binary property list"),
        ),
    ),
    Case(
        "xcstrings",
        "xcstrings",
        test_xcstrings.written(
            test_xcstrings.catalogue(
                **{
                    "": {},
                    "5 nets": {},
                    "One boat": {"localizations": {"de": test_xcstrings.unit("Ein Boot")}},
                    "Old": {"extractionState": "stale"},
                },
                **test_xcstrings.DOGS["strings"],
            )
        ).encode(),
        4,
        thorough=True,
        kept=(
            '"extractionState" : "stale"',
            '"5 nets" : {',
            '"value" : "%lld dog"',
            '"sourceLanguage" : "en"',
        ),
        files=test_xcstrings.FILES,
        done=("Ein Boot",),
        words=False,
        states=(
            (_XCSTRINGS.format("translated"), "retranslate"),
            (_XCSTRINGS.format("needs_review"), "retranslate"),
            (_XCSTRINGS.format("new"), "retranslate"),
        ),
        small=('{"strings": {}}', '{"sourceLanguage": "en", "strings": {"a": 5, "b": {}}}'),
        bad=(
            _refused('{"strings":\n', "line 2: not JSON"),
            _refused('{"sourceLanguage": "fr", "strings": {}}', "line 1: sourceLanguage is 'fr'"),
            _NOT_UTF8,
        ),
    ),
    Case(
        "csv",
        "csv",
        (
            b'key,en,price\na,"The ""old"" boat for {0}, a\nrope.\\nAnd a net.",5\n'
            b'b,One boat,"6"\nc,"",7\nd,5 nets,8\n'
        ),
        3,
        thorough=True,
        kept=("key,en,price\na,", ",5\nb,", ',"6"\nc,"",7\n', "{0}"),
        files=test_csv.FILES,
        hostile=test_csv.HOSTILE,
        seen=test_csv.cells,
        small=("", "\n", "en", "en\n\n", "a\n\n b\n"),
        bad=(
            _NOT_UTF8,
            _refused("key,en\na,b\nc,d,e\n", "line 3: 3 cells, but 2 in the first row"),
            _refused('key,en\na,"b\nc', "line 2: the quotes of a cell do not pair"),
            _refused("key,word\na,b\n", "line 1: none of 2 columns is known to be in English"),
            _refused("key,en\na,\0\n", "line 2: a NUL character"),
        ),
    ),
    Case(
        "docx",
        "docx",
        office.docx(
            _BODY,
            {
                "word/header1.xml": office.word_xml("<w:p><w:r><w:t>Head</w:t></w:r></w:p>", "w:hdr"),
                "word/comments.xml": office.word_xml("<w:p><w:r><w:t>No</w:t></w:r></w:p>", "w:comments"),
            },
        ),
        4,
        kept=('<w:hyperlink r:id="rId5">', "</w:hyperlink>", "<w:tab/>", "<w:txbxContent>", "<w:p/>", ">No<"),
        thorough=True,
        files=test_docx.DOCUMENTS,
        seen=test_docx.looks,
        encodings=(),
        bad=(
            (b"hello", "not a zip file"),
            (b"PK\3\4", "incomplete"),
            (office.packed({"a.txt": "hello"}), "no list of content types"),
            (office.docx("", main="application/vnd.ms-excel.sheet.main+xml"), "no Word document"),
            (office.docx("<w:p>"), "word/document.xml, line 2: not well-formed"),
            (office.docx("", {"word/header1.xml": "<a>"}), "word/header1.xml, line 1: not well-formed"),
            (office.docx("", {"word/styles.xml": "<a>"}), "word/styles.xml, line 1: not well-formed"),
            (office.docx("", {"[Content_Types].xml": ""}), "Content_Types"),
            (office.docx("", {"word/document.xml": _ENTITY}), "entity"),
            (office.docx("<w:p>" * 2000 + "</w:p>" * 2000), "1,000 elements inside each other"),
            (office.docx("<w:p>" * 21 + "</w:p>" * 21), "20 paragraphs inside each other"),
            (
                office.docx(f"<w:p>{'<w:ins>' * 51}<w:r><w:t>a</w:t></w:r>{'</w:ins>' * 51}</w:p>"),
                "50 elements inside each other",
            ),
        ),
    ),
    Case(
        "odt",
        "odt",
        office.odt(
            _ODT_BODY,
            _ODT_STYLES,
            {
                "styles.xml": office.odf_xml("office:document-styles", "<text:p>Head</text:p>"),
                "meta.xml": "<m/>",
            },
        ),
        4,
        kept=('<text:a xlink:href="x">', "</text:a>", "<text:tab/>", "<text:note-body>", "<text:p/>"),
        thorough=True,
        files=test_opendocument.DOCUMENTS,
        seen=test_opendocument.looks,
        encodings=(),
        bad=(
            (b"hello", "not a zip file"),
            (b"PK\3\4", "incomplete"),
            (office.packed({"a.txt": "hello"}), "(?m)spreadsheet of OpenDocument$"),
            (
                office.odt("", parts={"mimetype": "application/vnd.oasis.opendocument.formula"}),
                "opendocument.formula",
            ),
            (
                office.packed({"mimetype": "application/vnd.oasis.opendocument.text"}),
                "content.xml is missing",
            ),
            (office.odt("<text:p>"), "content.xml, line 2: not well-formed"),
            (office.odt("", parts={"styles.xml": "<a>"}), "styles.xml, line 1: not well-formed"),
            (office.odt("", parts={"content.xml": _ENTITY}), "entity"),
            (office.odt("<text:p>" * 21 + "</text:p>" * 21), "20 paragraphs inside each other"),
            (
                office.odt(f"<text:p>{'<text:span>' * 51}{'</text:span>' * 51}</text:p>"),
                "50 elements inside each other",
            ),
            (
                office.odt(f"<text:p>{'<text:span>' * 1001}{'</text:span>' * 1001}</text:p>"),
                "1,000 elements inside",
            ),
        ),
    ),
    Case(
        "pptx",
        "pptx",
        office.pptx(_SLIDE),
        3,
        kept=("<a:br/>", "<a:p/>", '<a:fld type="slidenum"><a:t>2</a:t></a:fld>', 'name="Box"'),
        encodings=(),
        bad=(
            (b"hello", "not a zip file"),
            (office.docx(""), "no PowerPoint presentation"),
            (office.pptx("<a:p>"), "ppt/slides/slide1.xml, line 2: not well-formed"),
            (
                office.pptx("", {"ppt/presentation.xml": "<a>"}),
                "ppt/presentation.xml, line 1: not well-formed",
            ),
            (office.pptx("", {"ppt/slides/slide1.xml": _ENTITY}), "entity"),
            (office.pptx("<a:p>" * 21 + "</a:p>" * 21), "20 paragraphs inside each other"),
            (office.pptx("", {"_xmlsignatures/sig1.xml": "<a/>"}), "digital signature"),
        ),
    ),
    Case(
        "xlsx",
        "xlsx",
        office.xlsx(_STRINGS, _HEADER),
        3,
        kept=("<si><t>PN-12</t></si><si><t/></si>", "&amp;L", "&amp;R", "&amp;P", "<v>3</v>", 'name="Boats"'),
        encodings=(),
        bad=(
            (b"hello", "not a zip file"),
            (office.docx(""), "no Excel workbook"),
            (office.xlsx("<si>"), "xl/sharedStrings.xml, line 2: not well-formed"),
            (office.xlsx("", "<a><is>"), "xl/worksheets/sheet1.xml, line 1: not well-formed"),
            (office.xlsx("", parts={"xl/sharedStrings.xml": _ENTITY}), "entity"),
            (
                office.office({"a.bin": ""}, {"a.bin": "ms-excel.sheet.binary.macroEnabled.main"}),
                "binary file of Excel",
            ),
        ),
    ),
    Case(
        "odp",
        "odp",
        office.odt(_PAGE, _ODT_STYLES, kind="presentation"),
        4,
        kept=('<text:a xlink:href="x">', "<text:tab/>", "<text:note-body>", "<text:p/>", 'draw:name="one"'),
        encodings=(),
        bad=(
            (office.packed({"mimetype": "application/vnd.oasis.opendocument.formula"}), "formula"),
            (office.odt("<text:p>", kind="presentation"), "content.xml, line 2: not well-formed"),
        ),
    ),
    Case(
        "ods",
        "ods",
        office.odt(_CELLS, _ODT_STYLES, kind="spreadsheet"),
        3,
        kept=("<text:tab/>", "<text:note-body>", "<text:p>5 m</text:p>", 'table:name="Boats"'),
        encodings=(),
        bad=((office.odt("<text:p>", kind="spreadsheet"), "content.xml, line 2: not well-formed"),),
    ),
    Case(
        "epub",
        "epub",
        office.epub(_CHAPTER, "<dc:title>5 nets &amp; ropes</dc:title>"),
        4,
        kept=("<b>", "</b>", "<br/>", 'src="m.png"', "<li>iv</li>", "application/epub+zip"),
        encodings=(),
        bad=(
            (b"hello", "not a zip file"),
            (office.packed({"a.txt": "hello"}), "not an EPUB"),
            (office.packed({"META-INF/container.xml": "<a/>"}), "names no book"),
            (office.epub("", "<dc:title>"), "book/b.opf, line 2: not well-formed"),
            (office.epub("", parts={"book/b.opf": _ENTITY}), "entity"),
            (office.epub("", parts={"book/one two.xhtml": b"<p>\n\xff"}), "one two.xhtml, line 2: not utf-8"),
            (
                office.epub(
                    "", parts={"META-INF/encryption.xml": '<a><EncryptionMethod Algorithm="aes"/></a>'}
                ),
                "encrypted",
            ),
            (office.epub("", parts={"META-INF/signatures.xml": "<a/>"}), "digital signature"),
        ),
    ),
]
