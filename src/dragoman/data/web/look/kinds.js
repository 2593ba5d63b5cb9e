// What the kinds of lines mean.

export const ABOUT = {
    "to repair: mojibake": "UTF-8 that was read as another encoding, such as Ã¼.",
    "to repair: entities": "Escapes of HTML, such as &amp;.",
    "to repair: unicode": "Characters that are not in their composed form (NFC).",
    "to repair: controls": "Control characters, which no text needs. They are shown as �.",
    "to repair: soft-hyphens": "They are not shown, and make other words.",
    "to repair: spaces": "Spaces at the ends, or several in a row.",
    "to repair: quotes": "Curved quotation marks.",
    "terms translated otherwise": "Pairs with a term in the source, but not its translation in the target.",
    omission: "Most of the text has no translation.",
    addition: "The translation is far too long.",
    repetition: "The translation repeats itself, and the source does not.",
    "number differs": "One side has a number that the other lacks. 1,000 and 1.000 are equal.",
    placeholder: "A placeholder, tag, address or token of programs is on one side only.",
    copied: "Four words or more in a row are those of the source, or all of them.",
    "equal sources": "Sources that an earlier pair has, too, with the same or another translation.",
    "equal targets": "Targets that an earlier pair has, too.",
    "equal pairs": "Pairs that are equal to an earlier one.",
};
