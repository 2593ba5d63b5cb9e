// The rows of the page, and what a person may do to them. A row is never changed: each step makes new rows.

/** @typedef {{ document: number, source: number[], target: number[], sure: number | null, moved: boolean, kept: boolean }} Row */

/** The rows of all documents, in order. `least` is the confidence from which on a pair is kept. */
export function rowsOf({ documents, least }) {
    return documents.flatMap(({ beads }, document) => beads.map(([start, end, from, to, sure, moved]) => {
        const row = { document, source: range(start, end), target: range(from, to), sure, moved };
        return { ...row, sure: isPair(row) ? sure : null, kept: isPair(row) && sure >= least };
    }));
}

export const isPair = ({ source, target }) => source.length > 0 && target.length > 0;

/** A row and the next one of its document become one pair. */
export function merged(rows, at) {
    const [one, next] = [rows[at], rows[at + 1]];
    const row = own(one, { source: sorted([...one.source, ...next.source]), target: sorted([...one.target, ...next.target]) });
    return [...rows.slice(0, at), row, ...rows.slice(at + 2)];
}

export const canMerge = (rows, at) => at + 1 < rows.length && rows[at].document === rows[at + 1].document;

/** The first sentence of each side becomes a row of its own. */
export function split(rows, at) {
    const { source, target } = rows[at];
    const first = own(rows[at], { source: source.slice(0, 1), target: target.slice(0, 1) });
    const rest = own(rows[at], { source: source.slice(1), target: target.slice(1) });
    return [...rows.slice(0, at), first, rest, ...rows.slice(at + 1)];
}

export const canSplit = ({ source, target }) => source.length > 1 || target.length > 1;

/** Both sides become rows without a partner. */
export function unpaired(rows, at) {
    const sides = [{ target: [] }, { source: [] }].map((side) => own(rows[at], side));
    return [...rows.slice(0, at), ...sides, ...rows.slice(at + 1)];
}

export function toggled(rows, at) {
    return rows.map((row, number) => (number === at ? { ...row, kept: !row.kept } : row));
}

/** The texts of the pairs that are kept. */
export function keptPairs(rows, { documents, languages }) {
    return rows.filter((row) => row.kept && isPair(row)).map((row) => {
        const { source, target } = documents[row.document];
        return [join(row.source.map((at) => source[at]), languages[0]), join(row.target.map((at) => target[at]), languages[1])];
    });
}

export const toTsv = (pairs) => pairs.map((pair) => `${pair.map((text) => text.replace(/[\t\r\n]/g, " ")).join("\t")}\n`).join("");

export function toTmx(pairs, languages) {
    const unit = (pair) => `<tu>${pair.map((text, side) => `<tuv xml:lang="${escaped(languages[side])}"><seg>${escaped(text)}</seg></tuv>`).join("")}</tu>\n`;
    return `<?xml version="1.0" encoding="UTF-8"?>\n<tmx version="1.4">\n<header creationtool="dragoman" creationtoolversion="1" `
        + `segtype="sentence" o-tmf="none" adminlang="en" srclang="${escaped(languages[0])}" datatype="plaintext"/>\n<body>\n`
        + `${pairs.map(unit).join("")}</body>\n</tmx>\n`;
}

// A row that a person made is certain.
const own = (row, sides) => {
    const made = { ...row, ...sides, sure: null, moved: false };
    return { ...made, kept: isPair(made) };
};
const sorted = (numbers) => numbers.sort((a, b) => a - b);
const range = (start, end) => Array.from({ length: end - start }, (_, at) => start + at);
const join = (texts, language) => texts.join(/^(?:zh|zho|cmn|yue|ja|jpn|th|tha|lo|lao|km|khm|my|mya)(?![a-z])/i.test(language) ? "" : " ");
// eslint-disable-next-line no-control-regex
const escaped = (text) => text.replace(/[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g, " ")
    .replace(/[&<>"]/g, (sign) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[sign]);
