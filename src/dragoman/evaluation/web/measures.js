// sacreBLEU's scores, from the sums of its statistics over lines. A line has a row of WIDTH numbers.

export const WIDTH = 54;

/** Each measure: its name, the place of its numbers in a row, and its score from their sums. */
export const MEASURES = {
    bleu: { name: "BLEU", at: 0, size: 10, score: bleu },
    chrf: { name: "chrF", at: 10, size: 18, score: chrf },
    "chrf++": { name: "chrF++", at: 28, size: 24, score: chrf },
    ter: { name: "TER", at: 52, size: 2, score: ter, lower: true },
};

/** Lengths of the text and the reference, then the matched and all n-grams of 1 to 4 words. `line`: of a sentence. */
function bleu(sums, line) {
    const [length, wanted] = sums, matched = sums.subarray(2, 6), all = sums.subarray(6, 10);
    if (!matched.some((count) => count > 0)) return 0;
    let smooth = 1, logs = 0, orders = 0;
    for (; orders < 4 && all[orders] > 0; orders++) {
        if (matched[orders] === 0) smooth *= 2;
        logs += Math.log((100 * (matched[orders] || 1 / smooth)) / all[orders]);
    }
    if (orders < 4 && !line) return 0;
    return (length < wanted ? Math.exp(1 - wanted / length) : 1) * Math.exp(logs / orders);
}

/** The n-grams of the text and of the reference, and those in both, for each order. */
function chrf(sums) {
    let precision = 0, recall = 0, orders = 0;
    for (let at = 0; at < sums.length; at += 3) {
        const [text, reference, both] = sums.subarray(at, at + 3);
        if (text === 0 || reference === 0) continue;
        precision += both / text;
        recall += both / reference;
        orders++;
    }
    if (precision + recall === 0) return 0;
    return (100 * 5 * (precision / orders) * (recall / orders)) / ((4 * precision + recall) / orders);
}

function ter([edits, words]) {
    return words > 0 ? (100 * edits) / words : edits > 0 ? 100 : 0;
}

/** The score of some lines together. `rows` holds the statistics of all lines. */
export function scoreOf(measure, rows, lines) {
    const { at, size, score } = MEASURES[measure];
    const sums = new Float64Array(size);
    for (const line of lines) for (let i = 0; i < size; i++) sums[i] += rows[line * WIDTH + at + i];
    return score(sums, false);
}

/** The score of each line. */
export function scoresOf(measure, rows) {
    const { at, size, score } = MEASURES[measure];
    return Float64Array.from({ length: rows.length / WIDTH }, (_, line) =>
        score(rows.subarray(line * WIDTH + at, line * WIDTH + at + size), true));
}
