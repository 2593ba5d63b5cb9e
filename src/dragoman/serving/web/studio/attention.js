// The attention of one sentence at each checkpoint: a slider over checkpoints, a table of weights.

import { select } from "./controls.js";
import { make, scrolling } from "./dom.js";
import { whole } from "./words.js";

const LONGEST = 300;
const KEPT = 40; // matrices of a run
const WAIT = 150; // milliseconds after the slider moved

export function attentionView(store) {
    const field = () => make("input", { type: "text", maxlength: LONGEST, autocomplete: "off", spellcheck: "false" });
    const [source, target, place] = [field(), field(), make("div", { class: "panels" })];
    const form = make("form", { class: "controls", hidden: true, onsubmit(event) {
        event.preventDefault();
        panels.forEach(({ look }) => look());
    } },
    make("label", { class: "control wide" }, make("span", {}, "Sentence"), source),
    make("label", { class: "control wide" }, make("span", {}, "Translation to look at (left empty: each checkpoint's own)"), target),
    make("button", { type: "submit", class: "main" }, "Look"));
    const pinned = () => ({ source: source.value.trim(), target: target.value.trim() || null });
    let panels = [];

    const update = () => {
        if (!panels.length) {
            panels = store.runs.map((run) => panel(run, store.runs.length > 1, pinned));
            place.append(...panels.map(({ element }) => element));
        }
        const sample = store.runs.flatMap(({ samples }) => samples)[0]?.sentences[0];
        if (sample && !source.value && !target.value && document.activeElement !== source) {
            [source.value, target.value] = [sample.source, sample.reference].map((text) => text.slice(0, LONGEST));
        }
        panels.forEach((one) => one.update());
        form.hidden = !panels.some((one) => one.possible());
    };
    for (const what of ["news", "shown"]) store.addEventListener(what, update);
    place.addEventListener("listed", update);
    return [make("p", { class: "hint" }, "Attention to the source: rows are tokens of the translation, columns tokens of the source. "
        + "With a translation to look at, all checkpoints read the same tokens."), form, place];
}

/** The checkpoints of one run. `pinned` returns the sentence and the translation to look at. */
function panel(run, several, pinned) {
    const state = { names: [], index: -1, layer: null, head: null, asked: 0, known: "", cache: new Map() };
    const slider = make("input", { type: "range", min: 0, step: 1 });
    const which = make("output", {});
    const note = make("p", { class: "note", role: "status" });
    const picture = make("div", {});
    const choices = make("div", { class: "together" });
    const bar = make("div", { class: "controls", hidden: true },
        make("label", { class: "control" }, make("span", {}, "Checkpoint ", which), slider), choices);
    const element = make("article", {},
        several && make("h3", {}, make("i", { class: `key hue${run.index % 8}` }), " ", run.summary.label), bar, note, picture);
    let timer = null;
    slider.addEventListener("input", () => {
        state.index = Number(slider.value);
        name();
        clearTimeout(timer);
        timer = setTimeout(look, WAIT);
    });

    function name() {
        const chosen = state.names[state.index];
        which.textContent = chosen === "final" ? "final weights" : `update ${whole(Number(chosen))}`;
        slider.setAttribute("aria-valuetext", which.textContent);
    }

    async function list() {
        const found = await ask(`api/checkpoints?run=${run.index}`);
        if (!found) return;
        const chosen = state.names[state.index];
        const last = state.index === state.names.length - 1;
        state.names = found.checkpoints;
        bar.hidden = !state.names.length;
        if (bar.hidden) note.textContent = found.reason;
        else {
            const same = state.names.indexOf(chosen);
            state.index = last || same < 0 ? state.names.length - 1 : same;
            slider.max = state.names.length - 1;
            slider.value = state.index;
            name();
            if (picture.firstChild && state.names[state.index] !== chosen) look(); // as the label says
        }
        element.dispatchEvent(new Event("listed", { bubbles: true }));
    }

    async function look() {
        const { source, target } = pinned();
        if (state.index < 0) return;
        if (!source) {
            note.textContent = "Type a sentence in the source language.";
            return;
        }
        const wanted = { run: run.index, checkpoint: state.names[state.index], source, target, layer: state.layer, head: state.head };
        const key = JSON.stringify(wanted);
        const number = ++state.asked;
        if (!state.cache.has(key)) {
            note.textContent = "Reading the checkpoint …";
            const answer = await ask("api/attention", { method: "POST", headers: { "content-type": "application/json" }, body: key });
            if (number !== state.asked) return; // another one was requested meanwhile
            if (!answer || answer.error) {
                note.textContent = answer?.error ?? "The server does not answer.";
                picture.replaceChildren();
                list(); // training may have deleted it
                return;
            }
            if (state.cache.size >= KEPT) state.cache.clear();
            state.cache.set(key, answer);
        }
        show(state.cache.get(key));
    }

    function show(answer) {
        note.textContent = `Translation: ${answer.translation}`;
        const numbers = (count) => Array.from({ length: count }, (_, i) => ({ value: String(i), text: String(i + 1) }));
        const heads = [{ value: "", text: "mean" }, ...numbers(answer.heads)];
        const focused = [...choices.querySelectorAll("select")].indexOf(document.activeElement);
        choices.replaceChildren(
            select("Layer", numbers(answer.layers), String(answer.layer), (value) => {
                state.layer = Number(value);
                look();
            }),
            select("Head", heads, state.head == null ? "" : String(state.head), (value) => {
                state.head = value === "" ? null : Number(value);
                look();
            }));
        choices.querySelectorAll("select")[focused]?.focus();
        picture.replaceChildren(scrolling("Attention", matrix(answer)));
    }

    return { element, look, possible: () => state.names.length > 0, update() {
        element.hidden = !run.shown;
        const now = `${run.summary.state} ${run.curves["valid/loss"]?.length} ${run.event.length}`;
        if (now !== state.known) list(); // a validation writes a checkpoint
        state.known = now;
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
    const cell = (weight) => make("td", { style: { "--weight": Math.sqrt(weight) }, class: weight > 0.766 ? "strong" : weight > 0.38 ? "middle" : null, title: weight.toFixed(4) },
        make("span", {}, weight.toFixed(2).replace(/^0/, "")));
    return make("table", { class: "matrix" },
        make("caption", { class: "unseen" }, "Weights of attention"),
        make("thead", {}, make("tr", {}, make("td", {}), source.map((token) => make("th", { scope: "col" }, make("span", {}, token))))),
        make("tbody", {}, weights.map((row, i) => make("tr", {}, make("th", { scope: "row", dir: "auto" }, target[i]), row.map(cell)))));
}
