// The translation: the probability of each token, its alternatives, and the source words that it aligns with. Also
// the other translations of the search.

import { WEIGHTS } from "./colour.js";
import { asCount, asWeight, block, nameOf } from "./data.js";
import {
    barCell, beside, factList, figureTable, heading, hint, inLanguage, isolated, live, numbers, pressable, roving,
    table,
} from "./controls.js";
import { make, scrolling } from "./dom.js";
import { allShown, fitsBeside, heatMap, matrixTable } from "./matrix.js";

export function translationView({ traces }) {
    return [
        hint("The bar under each token is its probability. Choose a token to see its alternatives. ",
            "Point at a word to see which words of the other sentence it aligns with."),
        beside(traces, traces.map(translationPanel)),
    ];
}

function translationPanel(trace) {
    const readout = live();
    const beneath = make("div", { class: "alternatives" });
    const state = { step: leastSure(trace.steps) };

    const sources = trace.source.words.map((word, i) => ({ ...word, element: make("span", {
        class: "word",
        "data-word": i,
        ...pressable(() => lightUp("source", i)),
        onfocus: () => lightUp("source", i),
        onpointerenter: () => lightUp("source", i),
        onpointerleave: rest,
    }) }));
    const tokens = trace.target.tokens.map((token, i) => ({ ...token, element: make("span", {
        class: token.word === null ? "piece special" : "piece",
        "data-step": i,
        "aria-pressed": "false",
        dir: token.word === null ? "ltr" : null,
        style: { "--part": trace.steps[i].probability },
        ...pressable(() => choose(i)),
        onfocus: () => tell(i),
        onpointerenter: () => tell(i),
        onpointerleave: rest,
    }) }));
    const targets = trace.target.words.map(() => make("span", { class: "word" }));

    function choose(step) {
        state.step = step;
        tokens.forEach(({ element }, i) => element.setAttribute("aria-pressed", String(i === step)));
        beneath.replaceChildren(...alternativesOf(trace, step));
        tell(step);
    }

    function tell(step) {
        const { word } = trace.target.tokens[step];
        lightUp("target", word);
        const { probability } = trace.steps[step];
        const name = isolated(nameOf(trace.target.tokens[step]));
        readout.replaceChildren(name, ` has probability ${asWeight(probability)}`,
            ...wordSure(trace, step), ...alignedWith(trace, word));
    }

    function rest() {
        tell(state.step);
    }

    /** Highlight a word, and colour the words of the other sentence by their alignment with it. */
    function lightUp(side, word) {
        const weights = alignedTo(trace, side, word);
        const [own, other] = side === "source" ? [sources.map(({ element }) => element), targets]
            : [targets, sources.map(({ element }) => element)];
        own.forEach((element, i) => element.classList.toggle("chosen", i === word));
        other.forEach((element, i) => {
            element.classList.remove("chosen");
            element.style.setProperty("--aligned", weights?.[i] ?? 0);
            element.classList.toggle("strongest", Boolean(weights) && weights[i] === Math.max(...weights));
        });
        own.forEach((element) => {
            element.style.setProperty("--aligned", 0);
            element.classList.remove("strongest");
        });
        if (side === "source") {
            readout.replaceChildren(isolated(trace.source.words[word].text),
                ...(weights ? [" aligns with ", ...ranked(weights, trace.target.words)] : [" has no alignment"]));
        }
    }

    const spoken = make("p", { class: "sentence target", ...inLanguage(trace.target.language, trace.target.text) },
        runningTokens(trace, tokens, targets));
    const heard = make("p", { class: "sentence", ...inLanguage(trace.source.language, trace.source.text) },
        runningText(trace.source.text, sources));
    roving(sources.map(({ element }) => element), { backwards: heard.dir === "rtl" });
    roving(tokens.map(({ element }) => element), { backwards: spoken.dir === "rtl", start: state.step });
    choose(state.step);
    const room = fitsBeside({ columns: trace.source.words });
    return [heard, spoken, readout,
        make("div", { class: room ? "twofold" : "" },
            make("div", {}, beneath, numbers(() => stepsTable(trace)).element), make("div", {}, alignmentPart(trace))),
        translationsPart(trace), factsPart(trace)];
}

function leastSure(steps) {
    return steps.reduce((least, { probability }, i) => (probability < steps[least].probability ? i : least), 0);
}

/** The elements of words with the text between them. Offsets count code points. */
export function runningText(text, words) {
    const letters = [...text];
    let at = 0;
    const nodes = words.flatMap(({ start, end, element }) => {
        const between = letters.slice(at, start).join("");
        at = Math.max(at, end);
        element.append(letters.slice(start, end).join(""));
        return [between, element];
    });
    return [...nodes, letters.slice(at).join("")];
}

/**
 * The same for tokens, inside their words. The letters of a word stay in one run, so that Arabic letters join. A
 * token without text, such as the end or one byte of a letter, shows its name.
 */
export function runningTokens({ target }, tokens, words) {
    const letters = [...target.text];
    const run = document.createDocumentFragment();
    let at = 0;
    for (const token of tokens) {
        const word = words[token.word];
        const begun = word?.parentNode;
        let start = Math.max(at, token.start ?? at);
        const end = Math.max(start, token.end ?? start);
        while (start < end && /\s/u.test(letters[start])) start++;
        (begun ? word : run).append(letters.slice(at, start).join(""));
        if (word && !begun) run.append(word);
        if (!word) run.append(" ");
        if (start === end) token.element.classList.add("special");
        token.element.append(letters.slice(start, end).join("") || nameOf(token));
        (word ?? run).append(token.element);
        at = end;
    }
    run.append(letters.slice(at).join(""));
    return run;
}

/** The alignment of one word: a row for a target word, a column for a source word. */
function alignedTo({ alignment }, side, word) {
    if (!alignment || word === null) return null;
    const [, columns] = alignment.shape;
    const all = block(alignment);
    return side === "target" ? [...all.subarray(word * columns, (word + 1) * columns)]
        : [...all].filter((_, i) => i % columns === word);
}

/** The words with the largest weights: "man 0.62, A 0.20". */
export function ranked(weights, words) {
    const order = [...weights.keys()].sort((a, b) => weights[b] - weights[a]).slice(0, 3);
    const worth = order.filter((i, n) => n === 0 || weights[i] >= 0.05);
    return worth.flatMap((i, n) => [n ? ", " : "", isolated(words[i].text), ` ${weights[i].toFixed(2)}`]);
}

function alignedWith(trace, word) {
    const weights = alignedTo(trace, "target", word);
    return weights && weights.length ? ["; its word aligns with ", ...ranked(weights, trace.source.words)] : [];
}

/** The probability of a word of several tokens is the product of theirs. */
function wordSure({ target, steps }, step) {
    const { word } = target.tokens[step];
    const parts = steps.filter((_, i) => target.tokens[i].word === word);
    if (word === null || parts.length < 2) return [];
    const product = parts.reduce((all, { probability }) => all * probability, 1);
    return ["; ", isolated(target.words[word].text), ` as a whole has ${asWeight(product)}`];
}

function alternativesOf({ steps }, step) {
    const { alternatives, entropy, logp } = steps[step];
    const most = Math.max(...alternatives.map(({ probability }) => probability));
    const row = (one, i) => make("tr", { class: one.token === steps[step].token ? "taken" : null },
        make("td", {}, String(i + 1)),
        make("th", { scope: "row" }, isolated(nameOf(one)), one.token === steps[step].token && " ✓"),
        barCell(one.probability / most),
        make("td", {}, asWeight(one.probability)));
    const taken = alternatives.some(({ token }) => token === steps[step].token);
    return [
        make("h3", {}, `Step ${step + 1}: alternatives to `, isolated(nameOf(steps[step]))),
        hint(`Log-probability ${asWeight(logp)}. Entropy ${asWeight(entropy)} nats, as in a uniform choice `,
            `among ${Math.exp(entropy).toFixed(1)} tokens.`, !taken && " The chosen token is not listed."),
        figureTable({ caption: "The most probable tokens at this step", quiet: true,
            head: ["rank", "token", "bar", "probability"], rows: alternatives.map(row) }),
    ];
}

function stepsTable({ steps }) {
    const head = ["step", "token", "piece", "probability", "log-probability", "entropy", "most probable"];
    const best = ({ alternatives }) => alternatives.slice(0, 3);
    return table("steps", "Each step of the translation", head, steps.map((one, i) => [
        String(i + 1), nameOf(one), one.piece, asWeight(one.probability), asWeight(one.logp), asWeight(one.entropy),
        best(one).map((other) => `${nameOf(other)} ${asWeight(other.probability)}`).join(", "),
    ]));
}

function alignmentPart(trace) {
    if (!trace.alignment?.raw.length) return hint("No alignment. ", trace.alignment_note);
    const labelled = ({ text }) => ({ label: text });
    const matrix = { rows: trace.target.words.map(labelled), columns: trace.source.words.map(labelled),
        values: block(trace.alignment), state: allShown, scale: WEIGHTS };
    const map = heatMap({
        label: "Alignment of target words with source words",
        read: ({ rows, columns, values }, r, c) => [isolated(rows[r].label), " aligns with ",
            isolated(columns[c].label), `: ${asWeight(values[r * columns.length + c])}`],
    });
    map.show(matrix);
    return [
        heading("Alignment of words"),
        hint(trace.alignment_note),
        map.element,
        numbers(() => matrixTable("alignment", "Target words by source words", matrix, asWeight)).element,
    ];
}

function translationsPart({ translations, target, search }) {
    const rows = translations.map(({ text, score, logp, truncated }, i) => make("tr", {},
        make("td", {}, String(i + 1)),
        make("td", {}, asWeight(score)),
        make("td", {}, asWeight(logp)),
        make("th", { scope: "row", class: "text", ...inLanguage(target.language, text) }, isolated(text),
            truncated && make("small", {}, " cut off at the length limit"))));
    return [
        heading(search.size ? "Translations of the search" : "The given translation"),
        scrolling("Translations", figureTable({ kind: "found", caption: "Translations, best first",
            head: ["", "score", "log-probability", "translation"], rows })),
    ];
}

const SHAPE = ["d_model", "d_ff", "heads", "encoder_layers", "decoder_layers", "layers", "cell", "kernel", "attention",
    "norm", "positions", "window"];

function factsPart({ model, search, dragoman }) {
    const { config } = model;
    const facts = [
        ["model", `${model.title}, ${model.architecture}, ${asCount(model.parameters)} parameters`],
        ["languages", `${model.source_language ?? "?"} to ${model.target_language ?? "?"}`],
        ["shape", SHAPE.filter((name) => config[name] != null).map((name) => `${name} ${config[name]}`).join(", ")],
        ["search", search.size ? `beam ${search.size}, length penalty ${search.length_penalty}, `
            + `normalization ${search.normalization ?? "none"}` : "none: the translation was given"],
        ["made by", `dragoman ${dragoman}`],
    ];
    return [heading("The model and the search"), factList(facts.filter(([, text]) => text))];
}
