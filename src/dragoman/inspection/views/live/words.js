// Tokens, words and their places in a text, as text/spans.py has them. Places count characters, not UTF-16 units.

export const SPACE = /[^\S\ufeff]|[\x1c-\x1f\x85]/; // what Python counts as a space
const IN_WORD = /[\p{L}\p{M}\p{N}\u200c\u200d]/u;
// Scripts without spaces between words: text/scripts.py.
export const UNSPACED = new RegExp("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u9fff"
    + "\uf900-\ufaff\u{20000}-\u{3ffff}]", "u");

/** The text with one space between words and none around them. */
export const squeezed = (text) => text.split(SPACE).filter(Boolean).join(" ");

/** The name of a piece, in which ▁ is a space. */
export const spelled = (piece) => squeezed(piece.replaceAll("▁", " ")) || piece;

/** One side of a trace. `ends` has where each of the `ids` ends; the token `end` follows them. The first `marks` are in no word. */
export function sideOf({ text, language, ids, pieces, ends, end, marks = 0 }) {
    const letters = [...text];
    const spans = ends.map((end, i) => stripped(letters, i ? ends[i - 1] : 0, end));
    const numbers = [...Array(marks).fill(null), ...wordsOf(spans.slice(marks), letters)];
    const part = ([start, end]) => ({ text: letters.slice(start, end).join(""), start, end });
    const tokens = ids.map((id, i) => ({ id, piece: pieces[i], ...part(spans[i]), word: numbers[i] }));
    const words = [];
    spans.forEach(([start, end], i) => {
        if (numbers[i] === null) return;
        const [first, last] = words[numbers[i]] ?? [start, end];
        words[numbers[i]] = [first, Math.max(last, end)];
    });
    return { text, language, tokens: [...tokens, specialToken(end, letters.length)], words: words.map(part) };
}

export const specialToken = ({ id, piece }, at = 0) =>
    ({ id, piece, text: piece, start: at, end: at, word: null });

/** The place of a token without the spaces around it. */
export function stripped(letters, start, end) {
    while (start < end && SPACE.test(letters[start])) start++;
    while (end > start && SPACE.test(letters[end - 1])) end--;
    return [start, end];
}

/** The number of each token's word; null for a token without text at the end. */
export function wordsOf(spans, letters) {
    let [word, reached, incomplete] = [-1, 0, false];
    const joined = (start) => {
        if (start !== reached || start <= 0 || start >= letters.length) return false;
        const pair = [letters[start - 1], letters[start]];
        return !pair.some((one) => UNSPACED.test(one)) && pair.every((one) => IN_WORD.test(one));
    };
    return spans.map(([start, end]) => {
        if (start === end && start === letters.length) return null;
        if (!incomplete && !(word >= 0 && joined(start))) word++;
        incomplete = start === end; // a byte of a character that is not whole yet
        reached = Math.max(reached, end);
        return word;
    });
}

/** Where each token ends, from the texts of all prefixes. The last one is the whole text. */
export function endsOfPrefixes(prefixes) {
    const whole = [...(prefixes.at(-1) ?? "")];
    let reached = 0;
    return prefixes.map((prefix) => {
        const letters = [...prefix];
        const different = letters.findIndex((letter, i) => letter !== whole[i]);
        return (reached = Math.max(reached, different < 0 ? letters.length : different));
    });
}

/** The ranges that differ between two lists, as Python's difflib finds them. */
export function differing(before, after) {
    const found = [];
    const compare = (first, end, start, stop) => {
        let [i, j, length] = [first, start, 0];
        let lengths = new Map(); // of the matches that end at a place of `after`
        for (let a = first; a < end; a++) {
            const longer = new Map();
            for (let b = start; b < stop; b++) {
                if (before[a] !== after[b]) continue;
                const k = (lengths.get(b - 1) ?? 0) + 1;
                longer.set(b, k);
                if (k > length) [i, j, length] = [a - k + 1, b - k + 1, k];
            }
            lengths = longer;
        }
        if (length) {
            compare(first, i, start, j);
            compare(i + length, end, j + length, stop);
        } else if (first < end || start < stop) {
            found.push({ before: [first, end], after: [start, stop] });
        }
    };
    compare(0, before.length, 0, after.length);
    return found;
}
