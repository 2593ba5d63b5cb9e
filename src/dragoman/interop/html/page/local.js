// In the place of serving/web/api.js: the page asks the engine in a worker, not a server.
//
// A model is unpacked when it is first needed. The answers are those of serving/page/routes.py.

import { load, supported } from "../../../translation/native/web/engine.js";
import { unpacked } from "../../../translation/native/web/packed.js";
import { segment } from "./sentences.js";
import { alternatives, begun, copiedTable, nextWords, sentenceTable, translateAll } from "./words.js";

/** A failed request. `kind`: long, or error. */
export class Failure extends Error {
    constructor(kind, message) {
        super(message);
        Object.assign(this, { kind, wait: null });
    }
}

export const key = { get: () => "", set() {} };

export const headers = () => ({});

/** What interop/html/page.py says of the page. */
export const page = JSON.parse(document.getElementById("page").textContent);
const REMEMBERED = 2000; // sentences
const opened = new Map(); // the promise of each model that was asked for, by its number
let engine = null; // the promise of the compiled engine

/** The answer to a request. Raises Failure. */
export async function ask(path, body, { signal } = {}) {
    try {
        return await ANSWERS[body === undefined ? `GET ${path}` : path](body, signal);
    } catch (error) {
        if (error instanceof Failure || error.name === "AbortError") throw error;
        const memory = /memory|allocation|failed before/i.test(error.message);
        throw new Failure("error", memory ? "There is too little memory for this model. Close other pages, then reload this one." : error.message);
    }
}

/** The answers by path, with GET before it for requests without a body. */
export const ANSWERS = {
    "GET v1/page": () => {
        setTimeout(warmUp);
        return page.offer;
    },
    async "v1/words"({ text, choices = [], ...asked }, signal) {
        const model = await modelOf(asked, signal);
        const { pieces, gaps } = segment(text, model.source, model.target, model.endless);
        const prefixes = new Map(choices.map(({ source, prefix }) => [source, prefix]));
        const tables = await tablesOf(model, pieces.map(({ body }) => body), prefixes, signal);
        let [sentences, translation, sourceAt, targetAt, done] = [[], gaps[0], 0, [...gaps[0]].length, 0];
        pieces.forEach(({ start }, i) => {
            sourceAt += [...text.slice(done, start)].length;
            done = start;
            sentences.push({ ...tables[i], source_at: sourceAt, target_at: targetAt });
            translation += tables[i].text + gaps[i + 1];
            targetAt += [...(tables[i].text + gaps[i + 1])].length;
        });
        return { source: model.source, target: model.target, text: translation, sentences };
    },
    async "v1/next_words"({ text, prefix = "", ...asked }, signal) {
        return { words: await nextWords(await modelOf(asked, signal), text, prefix, 8, signal) };
    },
    async "v1/alternatives"({ text, ...asked }, signal) {
        return alternatives(await modelOf(asked, signal), text, signal);
    },
};

/** Open the model for the chosen languages before a text needs it. */
function warmUp() {
    const [source, target] = ["source", "target"].map((side) => document.getElementById(`${side}-language`).value);
    modelOf({ source, target }).catch(() => {}); // the first translation says why
}

/** The table of each sentence. Those that stay the same are remembered. */
async function tablesOf(model, sentences, prefixes, signal) {
    const found = new Map(), made = [], free = [];
    const name = (sentence) => JSON.stringify([model.tags, sentence, prefixes.get(sentence) ?? ""]);
    const keep = (sentence, table) => {
        found.set(sentence, table);
        model.tables.set(name(sentence), table);
        if (model.tables.size > REMEMBERED) model.tables.delete(model.tables.keys().next().value);
    };
    const make = async (sentence, best) => keep(sentence, await sentenceTable(model, sentence, best));
    for (const one of new Set(sentences)) {
        const known = model.tables.get(name(one));
        if (known) found.set(one, known);
        else if (prefixes.get(one)) made.push(begun(model, one, prefixes.get(one), signal).then((best) => make(one, best)));
        else if (/\p{L}/u.test(one)) free.push(one);
        else keep(one, copiedTable(one));
    }
    if (free.length) made.push(translateAll(model, free, { signal, each: (i, best) => made.push(make(free[i], best)) }));
    for (let i = 0; i < made.length; i++) await made[i]; // the list grows
    return sentences.map((one) => found.get(one));
}

/** The model that translates between languages; `model` is its name. */
export async function modelOf({ source, target, model }, signal) {
    const fits = ({ sources, targets }) => sources.includes(source) && targets.includes(target) && source !== target;
    const number = page.offer.models.findIndex(({ name, pairs }) => pairs.some(fits) && (!model || name === model));
    if (number < 0) throw new Failure("error", `This page has no model from ${source} to ${target}.`);
    if (!opened.has(number)) opened.set(number, open(number));
    const own = await opened.get(number);
    signal?.throwIfAborted();
    const { tags, endless } = page.files[number];
    return { ...own, source, target, tags: { source: tags.source[source], to: tags.to[target] }, endless: endless[source] };
}

async function open(number) {
    const { name } = page.offer.models[number], { files, ...about } = page.files[number];
    const needed = { "WebAssembly with SIMD": supported(), DecompressionStream: globalThis.DecompressionStream, "Intl.Segmenter": Intl.Segmenter };
    const lacking = Object.keys(needed).filter((one) => !needed[one]).join(" and ");
    if (lacking) throw new Failure("error", `This browser lacks ${lacking}: use a version from 2024 or later.`);
    const show = (share, text) => document.dispatchEvent(new CustomEvent("unpacking", { detail: { name, share, text } }));
    const found = {};
    try {
        for (const [file, id] of Object.entries(files)) {
            found[file] = await unpacked(id, (share) => file === "model.safetensors" && show(0.8 * share, "Unpacking the model…"));
        }
        engine ??= unpacked("engine").then((wasm) => WebAssembly.compile(wasm));
        const translator = await load(found, { wasm: await engine, progress: ({ share }) => show(0.8 + 0.2 * share, "Loading the model…") });
        return { ...about, name, translator, tables: new Map() };
    } finally {
        show(1, "");
    }
}
