// The kinds of lines that scores are broken down by.

const WORD = /\p{Script=Han}|\p{Script=Hiragana}|\p{Script=Katakana}|[\p{L}\p{M}\p{N}]+(?:['’-][\p{L}\p{M}\p{N}]+)*/gu;
const LENGTHS = [5, 10, 15, 20, 30, 50, Infinity];
const TIMES = [1, 2, 5, 10, 50, Infinity];

export const wordsOf = (text) => text.match(WORD) ?? [];

const range = (limits, value, what) => {
    const at = limits.findIndex((limit) => value <= limit);
    const low = at > 0 ? limits[at - 1] + 1 : 0, high = limits[at];
    return { order: at, name: `${high === Infinity ? `${low} or more` : low < high ? `${low} to ${high}` : high} ${what}` };
};

/** How often the rarest word of each source is in all of them; 0 for a line without words. */
export function rarest(sources) {
    const words = sources.map((text) => wordsOf(text.toLowerCase()));
    const times = new Map();
    for (const word of words.flat()) times.set(word, (times.get(word) ?? 0) + 1);
    return words.map((line) => line.reduce((least, word) => Math.min(least, times.get(word)), line.length ? Infinity : 0));
}

/** The ways to break lines down that this text has: {name, of}, where `of(line)` are the kinds of a line. */
export function waysOf({ sources, documents, groups, systems, rare }) {
    const lengths = sources.map((text) => wordsOf(text).length);
    const named = (names) => {
        const order = new Map([...new Set(names)].map((name, i) => [name, i]));
        return (line) => [{ order: order.get(names[line]), name: names[line] }];
    };
    const kinds = [...new Set(systems.flatMap((one) => one.faults.flat().map(([kind]) => kind)))].sort();
    const ways = {
        length: { name: "Length of the source", of: (line) => [range(LENGTHS, lengths[line], "words")] },
        rare: { name: "Rarest word of the source", of: (line) => [range(TIMES, rare[line], "times in this text")] },
    };
    if (groups.length) ways.group = { name: "Group", of: named(groups) };
    if (documents.length) ways.document = { name: "Document", of: named(documents) };
    if (kinds.length) {
        const of = (line) => kinds
            .map((name, order) => ({ order, name }))
            .filter(({ name }) => systems.some((one) => one.faults[line].some(([kind]) => kind === name)));
        ways.fault = { name: "Fault of any system", of };
    }
    return ways;
}

/** The kinds of one way, in order, each with its lines. */
export function kindsOf(way, count) {
    const kinds = new Map();
    for (let line = 0; line < count; line++) {
        for (const { order, name } of way.of(line)) {
            if (!kinds.has(name)) kinds.set(name, { order, name, lines: [] });
            kinds.get(name).lines.push(line);
        }
    }
    return [...kinds.values()].sort((a, b) => a.order - b.order);
}
