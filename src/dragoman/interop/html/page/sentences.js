// A text cut into sentences by the browser (Intl.Segmenter), and the space between them, which stays as it is.
//
// Python uses sentencex (text/sentences.py). The two differ in rare cases, mostly after abbreviations.

const LINE = /([^\n\r\v\f\x1c-\x1e\x85\u2028\u2029]*)([\n\r\v\f\x1c-\x1e\x85\u2028\u2029]*)/g;
const BLANK = /^[\s\p{Cc}\p{DI}\u2800\ufff9-\ufffb]*$/u;
const EDGES = /^[\s\xad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]+|[\s\xad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]+$/g;
const UNSPACED = /^(?:zh|zho|cmn|yue|ja|jpn|th|tha|lo|lao|km|khm|my|mya)(?![a-z])/i;
const LONGEST = 500; // characters of a sentence
const CLAUSE = /[;:,–—؛،；：，、]\s*|\s[-–]\s/g;
// No sentence ends in brackets, unless they hold the whole line, or in a short quote.
const CLOSED = /\([^()]*\)|\[[^\][]*\]|\{[^{}]*\}|(?<![^\s(\[])(?:"(?=[\p{L}\p{N}])[^"]{0,60}"|“[^“”]{0,60}”|„[^„“”]{0,60}[“”]|«[^«»]{0,60}»)(?![\p{L}\p{N}])/gu;
const QUOTED = /“[^“”]*”|「[^「」]*」|『[^『』]*』|（[^（）]*）/g; // of any length, in Chinese and Japanese
const BRACKETED = /^[^\p{L}\p{N}()[\]{}]*(?:\([^()]*\)|\[[^\][]*\])[^\p{L}\p{N}()[\]{}]*$/u;
const NUMBER = /^\s*[(\[]?(?:\d{1,3}|[A-Za-z])[.)\]]\s*$/; // "1." before a sentence
const OPENING = /[\p{Ps}\p{Pi}]*$/u; // the browser takes these for closing ones
// Before a space these end no sentence in any language: initials, and abbreviations that others follow.
const ABBREVIATION = /(?:(?<![\p{L}\p{N}])(?!I\.)\p{L}|\b(?:bzw|ca|vgl|inkl|evtl|geb|gest|min|max|Abb|Abs|Anm|Art|Bd|Chr|Hrsg|Kap|Tab|Tel|Ziff|No|Nos|[Nn]r|Fig|Vol|Ch|chap|Rev|Gen|Sen|Rep|Gov|Col|Capt|Sgt|Lt|Mt|vs|cf|approx|p|pp|S))\.\s*$/u;

/**
 * The pieces that are translated, [{start, body}], and the gaps before, between and after them. `endless` are the texts
 * of two regular expressions for the source language: titles, and abbreviations with what follows.
 */
export function segment(text, source, target, endless) {
    const [pieces, gaps] = [[], []];
    let done = 0;
    for (const [at, part] of cuts(text, source, endless)) {
        const body = part.replace(EDGES, "");
        if (BLANK.test(body)) continue;
        const start = text.indexOf(body, at);
        const gap = text.slice(done, start);
        gaps.push(pieces.length ? between(gap, source, target) : gap);
        done = start + body.length;
        pieces.push({ start, body });
    }
    return { pieces, gaps: [...gaps, text.slice(done)] };
}

/** The space between two sentences in the target language. Chinese, for instance, has none. */
function between(space, source, target) {
    if (space !== "" && space !== " ") return space;
    const [from, to] = [source, target].map((code) => UNSPACED.test(code));
    return from === to ? space : to ? "" : " ";
}

function* cuts(text, language, endless) {
    let at = 0;
    for (const [whole, line, end] of text.matchAll(LINE)) {
        let start = 0;
        for (const place of [...places(line, language, endless), line.length]) {
            for (const part of shorter(line.slice(start, place) + (place === line.length ? end : ""))) {
                yield [at, part];
                at += part.length;
            }
            start = place;
        }
        if (!whole) return;
    }
}

/** The places in a line where a sentence ends and another begins. */
function places(line, language, [titles, others]) {
    const words = line.search(/[\p{L}\p{N}_][^\p{L}\p{N}_]*$/u); // no sentence is without a word
    if (words < 0) return [];
    const kept = new Set();
    if (!BRACKETED.test(line)) {
        for (const { 0: { length }, index } of [...line.matchAll(CLOSED), ...(/^(?:zh|zho|ja|jpn)(?![a-z])/i.test(language) ? line.matchAll(QUOTED) : [])]) {
            for (let i = index + 1; i < index + length; i++) kept.add(i);
        }
    }
    for (const { 0: { length }, index } of line.matchAll(new RegExp(others, "gu"))) kept.add(index + length);
    const title = new RegExp(`(?<![\\p{L}\\p{N}_.-])(?:${titles})\\.\\s*$`, "iu");
    // The browser ends no sentence at "…", nor before a number that small letters follow.
    const shown = line.replace(/…(?=\s+[^\p{L}\p{N}\s]{0,3}\p{Lu})/gu, ".").replace(/(?<=\p{L}{2}[.!?]\s+)\d/gu, "A");
    let start = 0;
    const found = Array.from(segmenter(language).segment(shown), ({ index }) => index - line.slice(0, index).match(OPENING)[0].length);
    return found.filter((place) => {
        const before = line.slice(start, place), last = before.trimEnd().length + start;
        const said = /[.!?…]["'“”’»›)\]}]+\s*$/u.test(before) && /\p{Ll}/u.test(line.charAt(place)); // "Stop!" he said
        const ends = place > 0 && place <= words && !kept.has(last) && !said && !NUMBER.test(before) && !title.test(before) &&
            !ABBREVIATION.test(before);
        if (ends) start = place;
        return ends;
    });
}

const segmenters = new Map();

function segmenter(language) {
    if (!segmenters.has(language)) {
        let one;
        try {
            one = new Intl.Segmenter(language, { granularity: "sentence" });
        } catch { // it is not a language tag
            one = new Intl.Segmenter("en", { granularity: "sentence" });
        }
        segmenters.set(language, one);
    }
    return segmenters.get(language);
}

/** A long sentence, cut after its last clause that fits, or between words. */
function* shorter(piece) {
    while (piece.trimEnd().length > LONGEST) {
        const place = [CLAUSE, /\s+/g].map((marks) => [...piece.slice(0, LONGEST).matchAll(marks)]
            .map(({ 0: { length }, index }) => index + length).at(-1)).find((cut) => cut > LONGEST / 4);
        const cut = place ?? LONGEST - Number(/[\udc00-\udfff]/.test(piece.charAt(LONGEST)));
        yield piece.slice(0, cut);
        piece = piece.slice(cut);
    }
    yield piece;
}
