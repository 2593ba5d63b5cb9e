// The same few sentences, as the runs translated them at each validation.

import { renew, table } from "./controls.js";
import { make } from "./dom.js";
import { whole } from "./words.js";

const FEW = 5; // translations of a sentence, until all are requested
const segmenter = new Intl.Segmenter(undefined, { granularity: "word" });

export function samplesView(store) {
    const list = make("div", { class: "samples" });
    const open = new Set();
    const update = () => {
        const runs = store.runs.filter(({ shown }) => shown);
        const sentences = gather(runs);
        if (!sentences.length) {
            renew(list, make("p", {}, store.runs.some(({ samples }) => samples.length) ? "The runs with translations are not shown."
                : "These runs have recorded no translations. Runs write them at each validation, if they have validation text."));
            return;
        }
        renew(list, sentences.map((one) => sentence(one, runs.length > 1, open.has(one.source))));
    };
    list.addEventListener("click", ({ target }) => {
        const source = target.closest("button")?.dataset.source;
        if (source === undefined) return;
        if (!open.delete(source)) open.add(source);
        update();
        [...list.querySelectorAll("button")].find(({ dataset }) => dataset.source === source)?.focus();
    });
    for (const what of ["news", "shown"]) store.addEventListener(what, update);
    return [make("p", { class: "hint" }, "The newest translation is on top. Words that the one before did not have are marked."), list];
}

/** Sentences with their translations by all runs, newest first. */
function gather(runs) {
    const found = new Map();
    for (const run of runs) {
        const before = new Map();
        for (const { step, sentences } of run.samples) {
            for (const { source, reference, hypothesis } of sentences) {
                const one = found.get(source) ?? { source, reference, translations: [] };
                found.set(source, one);
                one.translations.unshift({ run, step, hypothesis, before: before.get(source) });
                before.set(source, hypothesis);
            }
        }
    }
    for (const one of found.values()) one.translations.sort((a, b) => b.step - a.step || a.run.index - b.run.index);
    return [...found.values()];
}

function sentence({ source, reference, translations }, several, open) {
    const shown = open ? translations : translations.slice(0, FEW);
    const rows = shown.map(({ run, step, hypothesis, before }) => [
        whole(step),
        ...(several ? [make("span", {}, make("i", { class: `key hue${run.index % 8}` }), ` ${run.summary.label}`)] : []),
        [hypothesis.trim() === reference.trim() && make("span", { class: "same" }, "= reference "), ...marked(hypothesis, before)],
    ]);
    const head = ["update", ...(several ? ["run"] : []), "translation"];
    return make("article", {},
        make("dl", {}, make("dt", {}, "source"), make("dd", { dir: "auto" }, source),
            make("dt", {}, "reference"), make("dd", { dir: "auto" }, reference)),
        make("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": `Translations of: ${source}` },
            table(`Translations of: ${source}`, head, rows, "translations")),
        translations.length > FEW && make("button", { type: "button", class: "raised", "data-source": source, "aria-expanded": String(open) },
            open ? "Show fewer" : `Show all ${translations.length}`));
}

const words = (text) => [...segmenter.segment(text)];

/** The text with the words marked that `before` does not have. */
function marked(text, before) {
    if (before === undefined) return [text];
    const old = new Set(words(before).map(({ segment }) => segment));
    return words(text).map(({ segment, isWordLike }) => (isWordLike && !old.has(segment) ? make("mark", {}, segment) : segment));
}
