// What the routes of the server answer about sentences, from the engine in this page. Places count code points.
//
// It follows serving/page/words.py, translation/next_words.py and translation/search/alignment.py.

import { SPACE, UNSPACED, endsOfPrefixes, stripped, wordsOf } from "../../../inspection/views/live/words.js";

const WIDE = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\uff00-\uff60\u{16fe0}-\u{18aff}\u{1aff0}-\u{1b2ff}\u{20000}-\u{3ffff}]/u;
const INNER_END = /[.!?…]['"’”»)\]]*\s+(?=\S*[\p{L}\p{N}_])|[。！？।]['"’”»）]*\s*(?=[\p{L}\p{N}_])/gu;
const ALTERNATIVES = 6; // whole translations of a sentence
const BEAM = 8; // that finds them
const STARTS = 16; // tokens that may begin the next word
const LONGEST = 8; // tokens of a word

const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);
const oneLine = (text) => text.replace(/[\r\n]/g, " ");

/** The table of a sentence for the page, of the best translation that `translate` gave. `model`: see local.js. */
export async function sentenceTable(model, sentence, { ids, source, tokenLogp, truncated, attention }) {
    const { translator, tags, reading } = model;
    const text = oneLine(await translator.decode(ids));
    const letters = [...text], ours = [...sentence];
    const [own, theirs] = await Promise.all([sourceSpans(translator, sentence, source, tags), targetSpans(translator, ids, letters)]);
    const links = linksOf(attention, own, theirs, reading);
    const sourceWords = wordsOf(apart(own), ours), words = wordsOf(apart(theirs), letters);
    const spans = united(theirs, words), sums = spans.map(() => 0);
    words.forEach((word, i) => word !== null && (sums[word] += tokenLogp[i]));
    const pairs = new Map();
    for (const [i, j] of links) {
        const [a, b] = [sourceWords[i], words[j]];
        if (a !== null && b !== null) pairs.set(`${a} ${b}`, [a, b]);
    }
    return {
        source: sentence,
        text,
        words: spans.map(([start, end], i) => ({ start, end, confidence: Math.round(Math.min(Math.exp(sums[i]), 1) * 1e4) / 1e4 })),
        source_words: united(own, sourceWords),
        links: [...pairs.values()].sort(([a, b], [c, d]) => a - c || b - d),
        remembered: false,
        lacking: lacksMost(ours, letters),
        truncated,
    };
}

/** The table of a sentence that stays as it is. */
export function copiedTable(sentence) {
    const spans = [];
    let at = 0;
    for (const part of sentence.split(/(\s+)/u)) {
        const length = [...part].length;
        if (part.trim()) spans.push([at, at + length]);
        at += length;
    }
    return {
        source: sentence,
        text: sentence,
        words: spans.map(([start, end]) => ({ start, end, confidence: null })),
        source_words: spans,
        links: spans.map((_, i) => [i, i]),
        remembered: false,
        lacking: false,
        truncated: false,
    };
}

/** The best translation of each sentence, which begins with its prefix. `each` gets them as they come. */
export function translateAll({ translator, tags, attention, banned }, sentences, { prefix, signal, each } = {}) {
    return translator.translate(sentences, { ...tags, attention, banned, prefix, signal, each: each && ((i, found) => each(i, found[0])) });
}

/**
 * The translation of a sentence that begins with a prefix, without it if the model cannot spell it.
 *
 * The search may continue the last word of a prefix. If the prefix ends with a space, it must not: then the likeliest
 * next word is chosen first.
 */
export async function begun(model, sentence, prefix, signal) {
    if (!(await spelled(model, prefix))) prefix = "";
    const best = async (begin) => (await translateAll(model, [sentence], { prefix: begin, signal }))[0][0];
    const found = await best(prefix);
    if (!SPACE.test(prefix.slice(-1)) || oneLine(found.text).startsWith(prefix)) return found;
    const [next] = await nextWords(model, sentence, prefix, 1, signal);
    return next ? best(next.prefix) : found;
}

/** The ids of a prefix, or null if the model cannot spell it. */
async function spelled({ translator, unknown, banned }, prefix) {
    const ids = prefix.trim() ? await translator.encode(prefix.trim(), "target") : [];
    return ids.includes(unknown) || banned.some((id) => ids.includes(id)) ? null : ids;
}

/** Other translations of a sentence, the best first. */
export async function alternatives({ translator, tags, banned }, sentence, signal) {
    const [found] = await translator.translate([sentence], { ...tags, banned, beam: BEAM, nBest: ALTERNATIVES, signal });
    const [text, ...others] = found.map((one) => oneLine(one.text));
    return { text, alternatives: [...new Set(others)].filter((one) => one !== text).map((one) => ({ text: one })) };
}

/**
 * The likeliest next words after `prefix`, the best first: {text, prefix, probability}.
 *
 * One step of a beam search gives the next tokens; greedy search completes each to a word.
 */
export async function nextWords(model, sentence, prefix, most, signal) {
    const { translator, tags, banned } = model;
    const ids = await spelled(model, prefix);
    if (ids === null) throw new Error(`The model cannot spell “${prefix.trim()}”.`);
    const { before, start } = await translator.addressed(tags);
    const source = await translator.encode(before + sentence.trim());
    if (!sentence.trim() || !source.length) return [];
    const forced = [...start, ...ids];
    const options = { banned, lengthPenalty: 0, stop: "full", minimumLength: forced.length + 1, unscored: start.length, signal };
    const beam = Math.min(STARTS, translator.shape.target_vocab);
    const [heads] = await translator.search([source],
        { ...options, beam, nBest: beam, prefixIds: [forced], maxTokens: forced.length + 1 });
    const starts = heads.map(({ ids }) => ids).filter((ids) => ids.length > forced.length);
    const whole = await translator.search(starts.map(() => source),
        { ...options, beam: 1, nBest: 1, prefixIds: starts, maxTokens: forced.length + 1 + LONGEST });
    const words = new Map();
    const own = whole.map(([one]) => ({ ...one, ids: one.ids.slice(start.length), tokenLogp: one.tokenLogp.slice(start.length) }));
    for (const word of await Promise.all(own.map((one) => firstWord(translator, one, ids.length, prefix)))) {
        if (word && word.probability > (words.get(word.text)?.probability ?? -1)) words.set(word.text, word);
    }
    const rounded = (value) => Math.round(value * 1e6) / 1e6;
    return [...words.values()].sort((a, b) => b.probability - a.probability).slice(0, most)
        .map((word) => ({ ...word, probability: rounded(word.probability) }));
}

/** The word that begins with the token behind the first `count` ones, or null if it may not follow the prefix. */
async function firstWord(translator, { ids, tokenLogp, truncated }, count, prefix) {
    const letters = [...oneLine(await translator.decode(ids))];
    const spans = await targetSpans(translator, ids, letters);
    const words = wordsOf(spans, letters);
    const start = spans.findIndex(([a, b], i) => i >= count && a < b);
    if (start < 0) return null;
    let end = start + 1;
    while (end < words.length && words[end] === words[start]) end += 1;
    if (truncated && end === words.length) return null; // too long to be a word
    const part = (from, to) => letters.slice(from, to).join("");
    const [head, word] = [part(0, spans[start][0]), part(spans[start][0], spans[end - 1][1])];
    if ((!head && prefix.trim()) || (SPACE.test(prefix.slice(-1)) && !SPACE.test(head.slice(-1)))) return null;
    return { text: word, prefix: head + word, probability: Math.exp(sum(tokenLogp.slice(count, end))) };
}

// ---- the places of tokens -------------------------------------------------------------------------------------------

/** The span of each token of a source; each byte of a character has the whole character's. */
async function sourceSpans(translator, sentence, ids, tags) {
    const { before } = await translator.addressed(tags), line = before + sentence, letters = [...line], shift = [...before].length;
    const [{ ends }, pieces] = await Promise.all([translator.cut(line), translator.pieces(ids, "source")]);
    const spans = ids.map((_, i) => stripped(letters, i ? ends[i - 1] : 0, ends[i]));
    return whole(spans.map((span) => span.map((place) => Math.max(place - shift, 0))), pieces);
}

/** The same for a translation of these ids. */
async function targetSpans(translator, ids, letters) {
    const prefixes = await Promise.all(ids.map((_, i) => (i + 1 < ids.length ? translator.decode(ids.slice(0, i + 1)) : letters.join(""))));
    const ends = endsOfPrefixes(prefixes.map(oneLine));
    const spans = ends.map((end, i) => stripped(letters, i ? ends[i - 1] : 0, end));
    return whole(spans, await translator.pieces(ids));
}

/** The spans with each byte of a character, such as the piece <0xE4>, at the whole character. */
function whole(spans, pieces) {
    const found = [...spans];
    let following = null;
    for (let i = spans.length - 1; i >= 0; i--) {
        if (!/^<0x[0-9A-F]{2}>$/.test(pieces[i])) following = null;
        else if (spans[i][0] < spans[i][1]) following = spans[i];
        else if (following) found[i] = following;
    }
    return found;
}

/** The reverse: of the bytes of a character, only the last has its place. */
function apart(spans) {
    const same = (one, other) => one[0] === other?.[0] && one[1] === other[1];
    return spans.map((span, i) => (same(span, spans[i + 1]) ? [span[0], span[0]] : span));
}

/** Link each target token to the source token with the largest weight, as [source, target]. */
function linksOf(rows, source, target, reading) {
    const candidates = source.flatMap(([a, b], i) => (a < b ? [i] : []));
    if (!candidates.length) return [];
    return target.flatMap(([a, b], j) => {
        const row = rows[j + Number(reading)];
        return a < b ? [[candidates.reduce((best, i) => (row[i] > row[best] ? i : best)), j]] : [];
    });
}

/** The span of each word, from the spans of its tokens. */
function united(spans, words) {
    const found = [];
    spans.forEach(([start, end], i) => {
        const word = words[i];
        if (word === null) return;
        const [low, high] = found[word] ?? [start, end];
        found[word] = [Math.min(low, start), Math.max(high, end)];
    });
    return found;
}

/** Whether a translation is far too short for its source (text/checks/omissions.py). */
function lacksMost(source, target) {
    if (source.length <= Math.min(1.5 * target.length, target.length + 12)) return false;
    const columns = (letters) => sum(letters.map((one) => (/[\p{L}\p{N}]/u.test(one) ? (WIDE.test(one) ? 2 : 1) : 0)));
    const [ours, theirs] = [columns(source), columns(target)], [one, other] = [source.join(""), target.join("")];
    const dense = UNSPACED.test(other) && !UNSPACED.test(one);
    if (ours > (dense ? 4 : 2.5) * theirs + 12) return true;
    if (ours <= (dense ? 2.5 : 1.6) * theirs + 12) return false;
    const ends = (text) => text.match(INNER_END)?.length ?? 0;
    return ends(one) > 2 * ends(other);
}
