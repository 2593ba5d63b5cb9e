// The attention of one sentence at each checkpoint: a slider over checkpoints, a table of weights.

import { make, scrolling, select } from "./dom.js";
import { whole } from "./words.js";

const LONGEST = 300;
const WAIT = 150; // milliseconds after the slider moved

export function attentionView(store) {
    const place = make("div", {});
    let views = null;
    store.addEventListener("news", () => {
        views ??= store.runs.map((run) => runView(run, store.runs.length > 1));
        if (!place.childNodes.length) place.append(...views.map(({ element }) => element));
        views.forEach(({ update }) => update());
    });
    store.addEventListener("shown", () => views?.forEach(({ update }) => update()));
    return [make("p", { class: "hint" }, "Attention to the source: rows are tokens of the translation, columns tokens of the source. "
        + "With a translation to look at, all checkpoints read the same tokens."), place];
}

function runView(run, several) {
    const state = { names: [], index: -1, layer: null, head: null, asked: 0, cache: new Map() };
    const source = make("input", { type: "text", maxlength: LONGEST, autocomplete: "off", spellcheck: "false" });
    const target = make("input", { type: "text", maxlength: LONGEST, autocomplete: "off", spellcheck: "false" });
    const slider = make("input", { type: "range", min: 0, step: 1, "aria-label": "Checkpoint" });
    const which = make("output", {});
    const note = make("p", { class: "note", role: "status" });
    const picture = make("div", {});
    const choices = make("div", { class: "together" });
    const form = make("form", { class: "controls", onsubmit(event) {
        event.preventDefault();
        look();
    } },
    make("label", { class: "control wide" }, make("span", {}, "Sentence"), source),
    make("label", { class: "control wide" }, make("span", {}, "Translation to look at (left empty: each checkpoint's own)"), target),
    make("button", { type: "submit", class: "main" }, "Look"));
    const bar = make("div", { class: "controls", hidden: true },
        make("label", { class: "control" }, make("span", {}, "Checkpoint ", which), slider), choices);
    const element = make("article", {}, several && make("h3", {}, make("i", { class: `key hue${run.index % 8}` }), " ", run.summary.label),
        form, bar, note, picture);
    let timer = null;
    slider.addEventListener("input", () => {
        state.index = Number(slider.value);
        name();
        clearTimeout(timer);
        timer = setTimeout(look, WAIT);
    });

    const label = (checkpoint) => (checkpoint === "final" ? "final weights" : `update ${whole(Number(checkpoint))}`);
    const name = () => {
        which.textContent = label(state.names[state.index]);
        slider.setAttribute("aria-valuetext", which.textContent);
    };

    async function list() {
        const found = await ask(`api/checkpoints?run=${run.index}`);
        if (!found) return;
        const chosen = state.names[state.index];
        const last = state.index === state.names.length - 1;
        state.names = found.checkpoints;
        form.hidden = !state.names.length;
        bar.hidden = !state.names.length;
        if (!state.names.length) {
            note.textContent = found.reason;
            return;
        }
        const same = state.names.indexOf(chosen);
        state.index = last || same < 0 ? state.names.length - 1 : same;
        slider.max = state.names.length - 1;
        slider.value = state.index;
        name();
    }

    async function look() {
        const text = source.value.trim();
        if (!text || state.index < 0) {
            note.textContent = "Type a sentence in the source language.";
            return;
        }
        const wanted = { run: run.index, checkpoint: state.names[state.index], source: text, target: target.value.trim() || null,
            layer: state.layer, head: state.head };
        const key = JSON.stringify(wanted);
        const number = ++state.asked;
        if (!state.cache.has(key)) {
            note.textContent = "Reading the checkpoint …";
            const answer = await ask("api/attention", { method: "POST", headers: { "content-type": "application/json" }, body: key });
            if (number !== state.asked) return; // another one was asked for meanwhile
            if (!answer || answer.error) {
                note.textContent = answer?.error ?? "The server does not answer.";
                picture.replaceChildren();
                list(); // training may have deleted it
                return;
            }
            if (state.cache.size > 40) state.cache.clear();
            state.cache.set(key, answer);
        }
        show(state.cache.get(key));
    }

    function show(answer) {
        note.textContent = answer.translation ? `Translation: ${answer.translation}` : "";
        const numbers = (count) => Array.from({ length: count }, (_, i) => ({ value: String(i), text: String(i + 1) }));
        choices.replaceChildren(
            select("Layer", numbers(answer.layers), String(answer.layer), (value) => {
                state.layer = Number(value);
                look();
            }),
            select("Head", [{ value: "", text: "mean" }, ...numbers(answer.heads)], state.head == null ? "" : String(state.head), (value) => {
                state.head = value === "" ? null : Number(value);
                look();
            }));
        picture.replaceChildren(scrolling("Attention", matrix(answer)));
    }

    let known = "";
    return { element, update() {
        element.hidden = !run.shown;
        const sample = run.samples[0]?.sentences[0];
        if (sample && !source.value && !target.value && document.activeElement !== source) {
            [source.value, target.value] = [sample.source.slice(0, LONGEST), sample.reference.slice(0, LONGEST)];
        }
        const now = `${run.summary.best?.step} ${run.summary.state} ${run.curves["valid/loss"]?.length}`;
        if (now !== known) list(); // a validation writes a checkpoint
        known = now;
    } };
}

async function ask(path, options) {
    try {
        return await (await fetch(path, options)).json();
    } catch {
        return null;
    }
}

function matrix({ source, target, weights }) {
    const cell = (weight) => make("td", { style: { "--weight": Math.sqrt(weight) }, class: weight > 0.5 ? "strong" : null, title: weight.toFixed(4) },
        make("span", {}, weight.toFixed(2).replace(/^0/, "")));
    return make("table", { class: "matrix" },
        make("caption", { class: "unseen" }, "Weights of attention"),
        make("thead", {}, make("tr", {}, make("td", {}), source.map((token) => make("th", { scope: "col" }, make("span", {}, token))))),
        make("tbody", {}, weights.map((row, i) => make("tr", {}, make("th", { scope: "row", dir: "auto" }, target[i]), row.map(cell)))));
}
