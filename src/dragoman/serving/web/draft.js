// The text, its translation, and the choices of the person: no elements in here.
//
// A sentence has its place in both texts ([start, end] in `source` and `target`), and words and links whose places
// count from its start. The server counts code points, a text field UTF-16 units: `received` converts.
//
// A choice belongs to the text of a source sentence, so it stays while other sentences change:
//   prefix  the translation begins with it, and the server continues it; `typed` is shown if it cannot
//   text    the whole translation, by hand; the server is not needed
// `own` has the places of the prefix that the person wrote; the others are the server's words, as they were.

/** The change from one text to another: `removed` characters at `start` became `added`. */
export function change(before, after, caret = after.length) {
    const most = Math.min(before.length, after.length);
    let start = 0;
    while (start < Math.min(most, caret) && before[start] === after[start]) start += 1;
    let same = 0;
    while (same < most - start && before.at(-1 - same) === after.at(-1 - same)) same += 1;
    return { start, removed: before.length - start - same, added: after.slice(start, after.length - same) };
}

/** A function from places before a change to places after it. Places inside move to the end of the change. */
function after({ start, removed, added }) {
    return (place) =>
        place <= start ? place : place >= start + removed ? place + added.length - removed : start + added.length;
}

/** A function from places in code points to places in UTF-16 units. */
function units(text) {
    if (!/[\ud800-\udbff]/.test(text)) return (place) => place;
    const places = [];
    let at = 0;
    for (const character of text) {
        places.push(at);
        at += character.length;
    }
    return (place) => places[place] ?? text.length;
}

export class Draft {
    source = "";
    target = "";
    sentences = [];
    choices = new Map();

    /** Take over an answer of the server to the text `source`. */
    received(source, answer) {
        const inSource = units(source);
        let [sentences, target, done] = [[], "", 0];
        const translated = units(answer.text);
        for (const one of answer.sentences) {
            const [begin, start] = [inSource(one.source_at), translated(one.target_at)];
            const gap = answer.text.slice(done, start);
            target += gap === " " && /\s$/.test(target) ? "" : gap; // the person's own sentence may end with a space
            done = start + one.text.length;
            const sentence = this.#sentence(one, begin, target.length);
            target += sentence.text;
            sentences.push(sentence);
        }
        Object.assign(this, { source, target: target + answer.text.slice(done), sentences });
    }

    #sentence(one, begin, start) {
        const choice = this.choices.get(one.source);
        const follows = !choice?.prefix || one.text.startsWith(choice.prefix);
        const byHand = choice?.text ?? (follows ? null : (choice.typed ?? choice.prefix));
        const text = byHand ?? one.text;
        const [from, to] = [units(one.source), units(one.text)];
        const own = (byHand === null && choice?.own) || [];
        const words = one.words.map(({ start: a, end: b, confidence }) => {
            const [first, last] = [to(a), to(b)];
            return { start: first, end: last, confidence, chosen: own.some(([low, high]) => first < high && last > low) };
        });
        return {
            original: one.source,
            context: one.context,
            text,
            machine: choice ? choice.machine : one.text,
            changed: choice !== undefined,
            byHand: byHand !== null,
            own,
            remembered: one.remembered && byHand === null,
            lacking: one.lacking && byHand === null,
            truncated: one.truncated,
            source: [begin, begin + one.source.length],
            target: [start, start + text.length],
            sourceWords: one.source_words.map(([a, b]) => [from(a), from(b)]),
            words: byHand !== null ? [] : words,
            links: byHand !== null ? [] : one.links,
        };
    }

    /** The person changed the source. Until the server answers, nothing links a sentence that the change touched. */
    typedSource(text, caret) {
        const edit = change(this.source, text, caret);
        const place = after(edit);
        this.source = text;
        this.sentences = this.sentences.map((one) => {
            const [start, end] = one.source;
            const touched = start <= edit.start + edit.removed && end >= edit.start;
            return { ...one, source: [place(start), place(end)], ...(touched && { sourceWords: [], links: [] }) };
        });
    }

    /** The person changed the translation. Returns whether the server can continue from there. */
    typedTarget(text, caret) {
        const edit = change(this.target, text, caret);
        const place = after(edit);
        const behind = edit.start + edit.removed;
        const owner = Math.max(this.sentences.findLastIndex(({ target }) => target[0] <= edit.start), 0);
        this.target = text;
        this.sentences = this.sentences.map((one, i) => {
            const [start, end] = one.target;
            if (i === owner) {
                const begin = Math.min(start, edit.start);
                return this.#rewritten(one, begin, text.slice(begin, Math.max(place(end), edit.start + edit.added.length)));
            }
            const touched = start < behind && end > edit.start;
            if (touched) return this.#rewritten(one, place(start), text.slice(place(start), place(end)));
            return { ...one, target: [place(start), place(end)] };
        });
        const sentence = this.sentences[owner];
        const written = edit.added !== "" && !/[\r\n]/.test(edit.added) && caret === edit.start + edit.added.length;
        const prefix = sentence && text.slice(sentence.target[0], caret);
        if (!written || !prefix?.trim()) return false;
        this.begin(sentence, prefix, { from: edit.start - sentence.target[0], typed: sentence.text });
        return true;
    }

    #rewritten(one, start, text) {
        this.choose(one, { text });
        return { ...one, text, target: [start, start + text.length], words: [], links: [], changed: true, byHand: true };
    }

    /** Choose how a sentence begins. The text after `from` is the person's. */
    begin(sentence, prefix, { from, typed }) {
        const kept = sentence.own.flatMap(([start, end]) => (start < from ? [[start, Math.min(end, from)]] : []));
        this.choose(sentence, { prefix, typed, own: [...kept, [from, prefix.length]] });
    }

    /** Choose how a sentence begins (`prefix`), or its whole translation (`text`), or with neither the server's own. */
    choose(sentence, choice) {
        if (choice.prefix === undefined && choice.text === undefined) this.choices.delete(sentence.original);
        else this.choices.set(sentence.original, { ...choice, machine: sentence.machine });
    }

    /** The choices for the server. Choices of removed sentences are forgotten. */
    prefixes() {
        this.choices = new Map([...this.choices].filter(([source]) => this.source.includes(source)));
        return [...this.choices].flatMap(([source, { prefix }]) => (prefix ? [{ source, prefix }] : []));
    }

    /** The index of the sentence at a place of the source or the target, or -1. */
    at(side, place) {
        return this.sentences.findLastIndex((one) => one[side][0] <= place && place <= one[side][1]);
    }
}

/** The index of the word at a place of the text, or -1. Between two words, the index of the second. */
export function wordAt(sentence, side, place) {
    const at = place - sentence[side][0];
    const spans = side === "source" ? sentence.sourceWords : sentence.words.map(({ start, end }) => [start, end]);
    return spans.findLastIndex(([start, end]) => start <= at && at <= end);
}
