// Scripts and categories of characters, as Unicode has them.

const CATEGORIES = {
    Lu: "capital letters", Ll: "small letters", Lt: "title-case letters", Lm: "modifying letters", Lo: "letters without case",
    Mn: "combining marks", Mc: "spacing marks", Me: "enclosing marks", Nd: "digits", Nl: "letters as numbers", No: "other numbers",
    Pc: "joining marks", Pd: "dashes", Ps: "opening brackets", Pe: "closing brackets", Pi: "opening quotes", Pf: "closing quotes",
    Po: "other punctuation", Sm: "mathematical signs", Sc: "signs of currencies", Sk: "modifying signs", So: "other signs",
    Zs: "spaces", Zl: "line separators", Zp: "paragraph separators", Cc: "controls", Cf: "format characters",
    Co: "private characters",
};
const SCRIPTS = ["Latin", "Cyrillic", "Greek", "Han", "Hiragana", "Katakana", "Hangul", "Arabic", "Hebrew", "Devanagari", "Bengali",
    "Tamil", "Telugu", "Kannada", "Malayalam", "Gujarati", "Gurmukhi", "Sinhala", "Thai", "Lao", "Khmer", "Myanmar", "Tibetan",
    "Georgian", "Armenian", "Ethiopic", "Mongolian"];

const patterns = (names, property) => names.map((name) => [name, new RegExp(`\\p{${property}=${name}}`, "u")]);
const byCategory = patterns(Object.keys(CATEGORIES), "gc");
const byScript = patterns(SCRIPTS, "Script");
const character = (code) => String.fromCodePoint(code);

export const categoryOf = (code) =>
    CATEGORIES[byCategory.find(([, pattern]) => pattern.test(character(code)))?.[0]] ?? "unassigned characters";

/** The script of a letter; nothing for other characters. */
export function scriptOf(code) {
    if (!/\p{L}/u.test(character(code))) return undefined;
    return byScript.find(([, pattern]) => pattern.test(character(code)))?.[0] ?? "others";
}

/** [name, count] of each group, the largest first. `of` names the group of a code point, or leaves it out. */
export function grouped(counts, of) {
    const sums = new Map();
    for (const [code, count] of counts) {
        const name = of(code);
        if (name !== undefined) sums.set(name, (sums.get(name) ?? 0) + count);
    }
    return [...sums].sort(([, one], [, other]) => other - one);
}

export const codePoint = (code) => `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;

/** The character as a sign, � for one that has no shape or turns the direction of the text. */
export const sign = (code) => (/[\p{C}\p{Zl}\p{Zp}]/u.test(character(code)) ? "�" : character(code));
