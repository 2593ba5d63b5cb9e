// The data of the page: unpack arrays, name tokens, group subwords into words.
//
// An array arrives as base64 of zlib-deflated little-endian numbers. A trace may have millions of numbers, so they
// keep their type, and `block` converts only the matrix that is shown.

/** {shape, raw, scale} of an array in the file. The value of a number is raw * scale. A page may compute it unpacked. */
async function unpack(array) {
    if (array.raw) return array;
    const { shape, type, scale, data } = array;
    const letters = atob(data);
    const bytes = new Uint8Array(letters.length);
    for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
    const inflated = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    const buffer = await new Response(inflated).arrayBuffer();
    const raw = type === "int16" ? new Int16Array(buffer) : new Float32Array(buffer);
    return { shape, raw, scale: type === "int16" ? scale : 1 };
}

/** The numbers at the first few indices, as doubles: block(weights, layer, head) is one matrix. */
export function block({ shape, raw, scale }, ...indices) {
    const size = shape.slice(indices.length).reduce((product, n) => product * n, 1);
    const start = size * indices.reduce((row, index, axis) => row * shape[axis] + index, 0);
    const values = new Float64Array(size);
    for (let i = 0; i < size; i++) values[i] = raw[start + i] * scale;
    return values;
}

/** The report, with every array unpacked and the axes of each trace computed. */
export async function readReport(report) {
    await Promise.all(report.traces.map(unpackTrace));
    if (report.positions) await unpackTables(report.positions.tables);
    if (report.difference) {
        report.traces.forEach((trace, i) => (trace.run = ["Untouched", "Changed"][i]));
        report.traces[1].off = new Set(report.difference.intervention.without);
    }
    return report;
}

async function unpackTrace(trace) {
    const within = async (owner, key) => {
        owner[key] = await unpack(owner[key]);
    };
    await Promise.all([
        ...trace.attention.map((kind) => within(kind, "weights")),
        ...(trace.terms?.stacks ?? []).flatMap((stack) => [within(stack, "values"), within(stack, "logits")]),
        trace.alignment && within(trace, "alignment"),
        trace.positions && unpackTables(trace.positions.tables),
    ]);
    trace.axes = {
        source: axisOf(trace.source.tokens, trace.source.words),
        inputs: axisOf(trace.inputs, trace.target.words),
        outputs: axisOf(trace.target.tokens, trace.target.words),
    };
    trace.axes.inputs.subwords.forEach((row, i) => (row.predicts = nameOf(trace.target.tokens[i])));
}

async function unpackTables(tables) {
    for (const table of tables) table.values = await unpack(table.values);
}

/** The name of a token: its text, or its piece if it has no text, such as a special token or a byte. */
export function nameOf({ text, piece }) {
    return text.replace(/\s+/gu, " ").trim() || piece;
}

/** A name of at most `most` letters. */
export function shortName(name, most) {
    const letters = [...name];
    return letters.length > most ? `${letters.slice(0, most - 1).join("")}…` : name;
}

/** An axis of a matrix in two units. Each group knows which tokens it covers. */
function axisOf(tokens, words) {
    const subwords = tokens.map((token, i) => ({ label: nameOf(token), first: i, last: i }));
    const grouped = [];
    tokens.forEach((token, i) => {
        const before = i > 0 ? tokens[i - 1].word : null;
        if (token.word !== null && token.word === before) grouped.at(-1).last = i;
        else grouped.push({ label: words[token.word]?.text ?? nameOf(token), first: i, last: i });
    });
    return { subwords, words: grouped };
}

/** Weights between groups: the sum over the keys of a word, the mean over its queries; rows still sum to 1. */
export function gather(weights, rows, columns) {
    const width = columns.at(-1).last + 1;
    const gathered = new Float64Array(rows.length * columns.length);
    rows.forEach(({ first, last }, r) => {
        columns.forEach((column, c) => {
            let sum = 0;
            for (let q = first; q <= last; q++) {
                for (let k = column.first; k <= column.last; k++) sum += weights[q * width + k];
            }
            gathered[r * columns.length + c] = sum / (last - first + 1);
        });
    });
    return gathered;
}

/** One head's weights, or the mean of all heads. */
export function headWeights(weights, layer, head) {
    if (head !== "mean") return block(weights, layer, head);
    const heads = weights.shape[1];
    const sum = block(weights, layer, 0);
    for (let h = 1; h < heads; h++) {
        const more = block(weights, layer, h);
        for (let i = 0; i < sum.length; i++) sum[i] += more[i];
    }
    return sum.map((value) => value / heads);
}

/** A number with the given decimals, without a minus sign before zero. */
export function fixed(value, decimals) {
    const text = value.toFixed(decimals);
    return Number(text) === 0 ? text.replace("-", "") : text;
}

export const asWeight = (value) => fixed(value, 4);
export const asLogit = (value) => fixed(value, 3);

/** A count for people: 1,234 or 5.37 million. */
export function asCount(value) {
    const units = [[1e12, "trillion"], [1e9, "billion"], [1e6, "million"]];
    const [unit, name] = units.find(([n]) => value >= n) ?? [1, ""];
    if (name) return `${Number((value / unit).toPrecision(3))} ${name}`;
    return value.toLocaleString("en", { maximumFractionDigits: value < 100 ? 1 : 0 });
}

/** The greatest absolute value, or 1 if all are zero, so that it can be a divisor. */
export function greatest(...arrays) {
    let most = 0;
    for (const values of arrays) for (const value of values) most = Math.max(most, Math.abs(value));
    return most || 1;
}

/** "rtl" if the first letter is Hebrew, Arabic or of a related script, otherwise "ltr". */
export function directionOf(text) {
    const letter = text.match(/\p{L}/u)?.[0] ?? "";
    return /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]/u.test(letter) ? "rtl" : "ltr";
}
