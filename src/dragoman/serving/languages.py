"""Codes of languages as clients write them, and their names in English.

Codes are those of BCP 47: a language of ISO 639-1 if it has two letters there, a script, a region. Names are
those that readers know, which for some languages are shorter than the ones of ISO 639.
"""

from __future__ import annotations

import re
from functools import lru_cache

# Two letters, three letters (ISO 639-2/T, and /B if it differs), name.
_TABLE = """
aa aar Afar; ab abk Abkhaz; ae ave Avestan; af afr Afrikaans; ak aka Akan; am amh Amharic; an arg Aragonese;
ar ara Arabic; as asm Assamese; av ava Avar; ay aym Aymara; az aze Azerbaijani; ba bak Bashkir;
be bel Belarusian; bg bul Bulgarian; bi bis Bislama; bm bam Bambara; bn ben Bengali; bo bod/tib Tibetan;
br bre Breton; bs bos Bosnian; ca cat Catalan; ce che Chechen; ch cha Chamorro; co cos Corsican; cr cre Cree;
cs ces/cze Czech; cu chu Church Slavonic; cv chv Chuvash; cy cym/wel Welsh; da dan Danish;
de deu/ger German; dv div Divehi; dz dzo Dzongkha; ee ewe Ewe; el ell/gre Greek; en eng English;
eo epo Esperanto; es spa Spanish; et est Estonian; eu eus/baq Basque; fa fas/per Persian; ff ful Fula;
fi fin Finnish; fj fij Fijian; fo fao Faroese; fr fra/fre French; fy fry West Frisian; ga gle Irish;
gd gla Scottish Gaelic; gl glg Galician; gn grn Guarani; gu guj Gujarati; gv glv Manx; ha hau Hausa;
he heb Hebrew; hi hin Hindi; ho hmo Hiri Motu; hr hrv Croatian; ht hat Haitian Creole; hu hun Hungarian;
hy hye/arm Armenian; hz her Herero; ia ina Interlingua; id ind Indonesian; ie ile Interlingue; ig ibo Igbo;
ii iii Nuosu; ik ipk Inupiaq; io ido Ido; is isl/ice Icelandic; it ita Italian; iu iku Inuktitut;
ja jpn Japanese; jv jav Javanese; ka kat/geo Georgian; kg kon Kongo; ki kik Kikuyu; kj kua Kwanyama;
kk kaz Kazakh; kl kal Greenlandic; km khm Khmer; kn kan Kannada; ko kor Korean; kr kau Kanuri;
ks kas Kashmiri; ku kur Kurdish; kv kom Komi; kw cor Cornish; ky kir Kyrgyz; la lat Latin;
lb ltz Luxembourgish; lg lug Ganda; li lim Limburgish; ln lin Lingala; lo lao Lao; lt lit Lithuanian;
lu lub Luba-Katanga; lv lav Latvian; mg mlg Malagasy; mh mah Marshallese; mi mri/mao Maori;
mk mkd/mac Macedonian; ml mal Malayalam; mn mon Mongolian; mr mar Marathi; ms msa/may Malay; mt mlt Maltese;
my mya/bur Burmese; na nau Nauruan; nb nob Norwegian Bokmål; nd nde North Ndebele; ne nep Nepali;
ng ndo Ndonga; nl nld/dut Dutch; nn nno Norwegian Nynorsk; no nor Norwegian; nr nbl South Ndebele;
nv nav Navajo; ny nya Chichewa; oc oci Occitan; oj oji Ojibwe; om orm Oromo; or ori Odia; os oss Ossetian;
pa pan Punjabi; pi pli Pali; pl pol Polish; ps pus Pashto; pt por Portuguese; qu que Quechua;
rm roh Romansh; rn run Kirundi; ro ron/rum Romanian; ru rus Russian; rw kin Kinyarwanda; sa san Sanskrit;
sc srd Sardinian; sd snd Sindhi; se sme Northern Sami; sg sag Sango; sh hbs Serbo-Croatian; si sin Sinhala;
sk slk/slo Slovak; sl slv Slovenian; sm smo Samoan; sn sna Shona; so som Somali; sq sqi/alb Albanian;
sr srp Serbian; ss ssw Swati; st sot Southern Sotho; su sun Sundanese; sv swe Swedish; sw swa Swahili;
ta tam Tamil; te tel Telugu; tg tgk Tajik; th tha Thai; ti tir Tigrinya; tk tuk Turkmen; tl tgl Tagalog;
tn tsn Tswana; to ton Tongan; tr tur Turkish; ts tso Tsonga; tt tat Tatar; tw twi Twi; ty tah Tahitian;
ug uig Uyghur; uk ukr Ukrainian; ur urd Urdu; uz uzb Uzbek; ve ven Venda; vi vie Vietnamese; vo vol Volapük;
wa wln Walloon; wo wol Wolof; xh xho Xhosa; yi yid Yiddish; yo yor Yoruba; za zha Zhuang;
zh zho/chi/cmn Chinese; zu zul Zulu
"""
_ROWS = [row.split(None, 2) for row in _TABLE.split(";")]
_NAMES = {two: name for two, _, name in _ROWS}
_TWO = {three: two for two, threes, _ in _ROWS for three in threes.split("/")} | {"iw": "he", "in": "id"}
# Codes that programs write although BCP 47 does not have them.
_ALIASES = {"zt": "zh-Hant", "pb": "pt-BR"}
_SCRIPTS_OF_CHINESE = {"CN": "Hans", "SG": "Hans", "TW": "Hant", "HK": "Hant", "MO": "Hant"}
_PARTS = {
    "Hans": "simplified",
    "Hant": "traditional",
    "Latn": "Latin",
    "Cyrl": "Cyrillic",
    "Arab": "Arabic",
    "BR": "Brazil",
    "PT": "Portugal",
    "US": "American",
    "GB": "British",
    "CA": "Canada",
    "MX": "Mexico",
    "419": "Latin America",
}
_TAG = re.compile(r"([a-z]{2,8})(?:-([a-z]{4}))?(?:-([a-z]{2}|[0-9]{3}))?(?:-[a-z0-9-]*)?")


@lru_cache(1000)  # of strangers
def usual_code(code: str) -> str:
    """Return a code in its usual form: "DEU" is "de", "pt_br" "pt-BR", "zh-TW" "zh-Hant".

    What is no code of a language is returned in lower case.
    """
    plain = code.strip().lower().replace("_", "-")
    found = _TAG.fullmatch(_ALIASES.get(plain, plain).lower())
    if found is None:
        return plain
    language, script, region = found.groups()
    language = _TWO.get(language, language)
    script, region = (script or "").title(), (region or "").upper()
    if language == "zh" and region:
        script, region = script or _SCRIPTS_OF_CHINESE.get(region, ""), ""
    return "-".join(part for part in (language, script, region) if part)


def language_name(code: str) -> str:
    """Return the English name of a language, such as "Portuguese (Brazil)"; a code without a name itself."""
    language, *parts = usual_code(code).split("-")
    if language not in _NAMES:
        return code
    more = ", ".join(_PARTS.get(part, part) for part in parts)
    return f"{_NAMES[language]} ({more})" if more else _NAMES[language]
