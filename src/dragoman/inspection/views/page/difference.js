// The difference that an intervention makes: both translations, the words that differ, and the log-probability of
// each token in the untouched model and in the changed one.

import { asWeight, greatest, nameOf } from "./data.js";
import { figureTable, heading, hint, inLanguage, isolated, signedBar } from "./controls.js";
import { make, scrolling } from "./dom.js";
import { runningText } from "./translation.js";

export function differenceView({ traces, difference }) {
    const [untouched, changed] = traces;
    const { of_untouched: before, of_changed: after } = difference;
    const ranges = (side) => difference.words.map((one) => one[side]);
    const most = greatest([...before, ...after].map((token) => token.after - token.before));
    return [
        make("ul", { class: "changes" }, namesOfChanges(difference.intervention, traces).map((name) =>
            make("li", {}, name))),
        sentence("Untouched", untouched.target, ranges("before"), "gone"),
        sentence("Changed", changed.target, ranges("after"), "new"),
        hint(difference.words.length ? "Words that differ are marked." : "No word differs."),
        same(untouched.target, changed.target) ? tokensPart("Tokens of both translations", before, most)
            : make("div", { class: "twofold" },
                tokensPart("Tokens of the untouched translation", before, most),
                tokensPart("Tokens of the changed translation", after, most)),
    ];
}

const same = (one, other) => one.tokens.length === other.tokens.length
    && one.tokens.every(({ id }, i) => id === other.tokens[i].id);

/** A translation with its words in `ranges` marked. */
function sentence(title, { text, language, words }, ranges, mark) {
    const marked = (i) => ranges.some(([first, end]) => i >= first && i < end);
    const elements = words.map((word, i) => ({ ...word, element: make(marked(i) ? markOf[mark] : "span") }));
    return make("div", { class: "version" }, make("h3", {}, title),
        make("p", { class: "sentence", ...inLanguage(language, text) }, runningText(text, elements)));
}

const markOf = { gone: "del", new: "ins" };

/** The log-probability of each token in both models, and a bar for the difference. */
function tokensPart(title, tokens, most) {
    const sum = (side) => tokens.reduce((total, token) => total + token[side], 0);
    const row = (name, before, after, kind = null) => make("tr", { class: kind },
        make("th", { scope: "row" }, name), make("td", {}, asWeight(before)), make("td", {}, asWeight(after)),
        make("td", { class: "signed", "aria-hidden": "true" }, !kind && signedBar(after - before, most)));
    return make("div", {}, heading(title), scrolling(title, figureTable({
        kind: "logps",
        caption: `${title}: log-probability in the untouched model and in the changed one`,
        head: ["token", "untouched", "changed", "difference"],
        rows: [...tokens.map((token) => row(isolated(nameOf(token)), token.before, token.after)),
            row("sum", sum("before"), sum("after"), "total")],
    })));
}

/** The changes of an intervention, each as a text. Tokens are named as in the traces. */
export function namesOfChanges(intervention, traces) {
    const { without, force, ban, shift, no_positions: none, length_penalty: penalty } = intervention;
    const name = (token) => (typeof token === "string" ? token : nameOfId(token, traces));
    return [
        ...without.map((head) => `${headTitle(head)} is off`),
        ...force.map(({ step, token }) => `Step ${step} is “${name(token)}”`),
        ...ban.map(({ step, token }) => `“${name(token)}” is banned ${step === null ? "everywhere" : `at step ${step}`}`),
        ...(shift ? [`Source positions are shifted by ${shift}`] : []),
        ...(none ? ["The source has no positions"] : []),
        ...(penalty === null ? [] : [`Length penalty ${penalty}`]),
    ];
}

/** "encoder.2.3" in words. */
export function headTitle(head) {
    const [kind, layer, number] = head.split(".");
    return `${kind[0].toUpperCase()}${kind.slice(1)} layer ${layer}, head ${number}`;
}

/** The name of a token by its number, if the traces show it somewhere. */
function nameOfId(id, traces) {
    for (const { steps } of traces) {
        for (const step of steps) {
            const one = [step, ...step.alternatives].find(({ token }) => token === id);
            if (one) return nameOf(one);
        }
    }
    return `#${id}`;
}
