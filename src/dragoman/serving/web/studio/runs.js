// A card for each run: its progress, and problems with its files.

import { renew } from "./controls.js";
import { make } from "./dom.js";
import { about, clock, figure, fixed, short, whole } from "./words.js";

const STATES = { waiting: "no lines yet", running: "running", quiet: "no news", stopped: "stopped", done: "done",
    missing: "file missing", unreadable: "not readable" };

export function runsView(store) {
    const list = make("div", { class: "runs" });
    const cards = [];
    const update = () => {
        store.runs.forEach((run, i) => {
            if (!cards[i]) list.append((cards[i] = card(store, run)).element);
            cards[i].update();
        });
    };
    store.addEventListener("news", update);
    setInterval(update, 1000); // ages and times left change
    return [list];
}

function card(store, run) {
    const box = make("input", { type: "checkbox", checked: true, onchange() {
        run.shown = box.checked;
        store.dispatchEvent(new Event("shown"));
    } });
    const title = make("h3", {});
    const state = make("span", {});
    const bar = make("progress", { max: 1, value: 0 });
    const facts = make("dl", {});
    const notes = make("ul", { class: "notes" });
    const element = make("article", { class: `hue${run.index % 8}` },
        make("div", { class: "title" }, make("i", { class: "key" }), title, state,
            store.runs.length > 1 && make("label", { class: "tick" }, box, "show")),
        bar, facts, notes);
    return { element, update() {
        const { summary } = run;
        title.textContent = summary.label;
        title.title = summary.path;
        state.className = `state ${summary.state}`;
        state.textContent = STATES[summary.state] ?? summary.state;
        bar.setAttribute("aria-label", `${summary.label}: part that is done`);
        bar.value = done(summary);
        renew(facts, factsOf(run).map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value))));
        renew(notes, summary.notes.map((note) => make("li", {}, note)));
    } };
}

const passed = (run) => (performance.now() - run.received) / 1000;

function done({ state, last, max_updates: most }) {
    if (state === "done") return 1;
    const byUpdates = most && last.step ? last.step / most : 0;
    const byTime = last.seconds && last.eta_seconds != null ? last.seconds / (last.seconds + last.eta_seconds) : 0;
    return Math.min(Math.max(byUpdates, byTime), 1);
}

function factsOf(run) {
    const { state, age, last, best, facts, max_updates: most } = run.summary;
    const now = age == null ? null : age + passed(run);
    const list = [];
    if (last.step != null) list.push(["update", most ? `${whole(last.step)} of ${whole(most)}` : whole(last.step)]);
    if (state === "running" && last.eta_seconds != null) list.push(["left", clock(last.eta_seconds - now)]);
    if (last.seconds != null) list.push(["trained", clock(last.seconds)]);
    if (last.nll != null) list.push(["training loss", fixed(3)(last.nll)]);
    if (best?.loss != null) list.push(["best loss", `${fixed(3)(best.loss)} at ${whole(best.step)}`]);
    if (best?.bleu != null) list.push(["BLEU and chrF", [best.bleu, best.chrf].filter((n) => n != null).map(fixed(1)).join(", ")]);
    if (last.tokens_per_second != null) list.push(["speed", `${short(last.tokens_per_second)} tokens/s`]);
    if (last.learning_rate != null) list.push(["learning rate", figure(last.learning_rate)]);
    if (last.tokens != null) list.push(["tokens", short(last.tokens)]);
    if (facts.parameters) list.push(["parameters", short(facts.parameters)]);
    if (facts.train_pairs) list.push(["pairs", short(facts.train_pairs)]);
    if (facts.search) list.push(["validation search", String(facts.search)]);
    if (facts.precision) list.push(["precision", String(facts.precision)]);
    if (now != null) list.push(["last written", `${about(now)} ago`]);
    return list;
}
