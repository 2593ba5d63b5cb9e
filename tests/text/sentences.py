"""A few sentences to learn small vocabularies from, and strings that tokenizers like to spoil."""

PAIRS = [
    ("The baker opens the shop before sunrise.", "Der Bäcker öffnet den Laden vor Sonnenaufgang."),
    ("My sister plays the violin in the evening.", "Meine Schwester spielt am Abend Geige."),
    ("The baker sells bread and small cakes.", "Der Bäcker verkauft Brot und kleine Kuchen."),
    ("In the evening the shop is closed.", "Am Abend ist der Laden geschlossen."),
    ("Don't open the window, it is cold outside!", "Öffne das Fenster nicht, draußen ist es kalt!"),
    ("The small window looks over the garden.", "Das kleine Fenster geht auf den Garten."),
    ("Who plays in the garden with my brother?", "Wer spielt mit meinem Bruder im Garten?"),
    ("My brother buys 12 small cakes for 7.50 euros.", "Mein Bruder kauft 12 kleine Kuchen für 7,50 Euro."),
    ("你好啊。", "Hallo du."),
    ("I bake bread.", "我烤面包。"),
]
SOURCES = [source for source, _ in PAIRS]
TARGETS = [target for _, target in PAIRS]

# Each must come back from decoding as it went in, known to the vocabulary or not.
DELICATE = [
    "",
    " ",
    "  doubled  and at both ends  ",
    "你好啊。",
    "مرحباً بالعالم",
    "नमस्ते दुनिया",
    "می‌خواهم",  # with a zero-width non-joiner
    "👩‍🚀 and 👨‍👩‍👧‍👦",  # with zero-width joiners
    "🇩🇪 ❤️",  # with a variation selector
    "e\u0301 is not é, ﬁ not fi, Ａ not A, ² not 2",  # what NFKC would make the same
    "\u3000wide\u3000\u00a0hard\u2009thin",
    "a\tb\x0bc\x0cd\x85e\u2028f\u2029g",
    "\ufeffmark",
    "<s></s><pad><unk><0x41>",
    "NUL \0 and a\nline\r\nbreak",
    "\U0010ffff\ufffe",
    "▅ ⁇ �",
]
