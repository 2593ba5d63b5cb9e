// The changes of a reader to a run: heads to switch off, tokens to force or to ban, positions, the length penalty.

import { asWeight, nameOf } from "./data.js";
import { namesOfChanges } from "./difference.js";
import {
    barCell, choice, figureTable, heading, hint, inLanguage, isolated, pressable, roving, slider,
} from "./controls.js";
import { make } from "./dom.js";
import { runningTokens } from "./translation.js";

const MOVES = Array.from({ length: 50 }, (_, i) => i + 1);
const PENALTIES = Array.from({ length: 31 }, (_, i) => i / 10);
const SHOWN_ALTERNATIVES = 8;

/** The panel for a model: {element, intervention(), show(report)}. `changed()` is called after each change. */
export function changesPanel(model, changed) {
    const state = { without: new Set(), force: new Map(), ban: [], shift: 0, no_positions: false, length_penalty: null };
    const list = make("ul", { class: "changes" });
    const words = make("div", {});
    const lists = { traces: [], step: null };
    const heads = headsPart(model, state.without, change);
    const positions = make("div", {});
    const penalty = make("div", {});
    const intervention = () => ({
        ...state,
        without: [...state.without],
        force: [...state.force].sort(([a], [b]) => a - b).map(([step, token]) => ({ step, token })),
    });

    function change() {
        tell();
        changed();
    }

    /** The list of changes, each with a button that undoes it. */
    function tell() {
        const now = intervention();
        const names = namesOfChanges(now, lists.traces);
        const undo = [
            ...now.without.map((head) => () => state.without.delete(head)),
            ...now.force.map(({ step }) => () => state.force.delete(step)),
            ...now.ban.map((one) => () => (state.ban = state.ban.filter((other) => other !== one))),
            ...(now.shift ? [() => (state.shift = 0)] : []),
            ...(now.no_positions ? [() => (state.no_positions = false)] : []),
            ...(now.length_penalty === null ? [] : [() => (state.length_penalty = null)]),
        ];
        const chip = (name, back) => make("li", {}, name, make("button", {
            type: "button", class: "undo", "aria-label": `Undo: ${name}`, onclick() {
                back();
                renew();
            } }, "×"));
        const all = make("li", { class: "all" }, make("button", { type: "button", onclick() {
            undo.forEach((back) => back());
            renew();
        } }, "Undo all"));
        list.replaceChildren(...names.map((name, i) => chip(name, undo[i])), ...(names.length > 1 ? [all] : []));
        list.hidden = !names.length;
    }

    /** After an undo the controls show the state again. */
    function renew() {
        heads.refresh();
        settings();
        change();
        (list.querySelector("button") ?? element.querySelector("summary")).focus();
    }

    function settings() {
        positions.replaceChildren(...positionsPart(model, state, change));
        penalty.replaceChildren(...penaltyPart(lists.traces[0], state, change));
    }

    /** Tokens and probabilities of the last run. */
    function show({ traces }) {
        lists.traces = traces;
        const held = words.contains(document.activeElement);
        words.replaceChildren(...wordsPart(traces.at(-1), state, lists, change));
        if (held) words.querySelector("[tabindex='0']")?.focus();
        if (!penalty.childNodes.length) settings();
        tell();
    }

    const element = make("details", { class: "workbench" },
        make("summary", {}, "Change the run: words, heads, positions, length penalty"), list,
        make("div", { class: "knobs" },
            make("section", {}, heading("Words"), words),
            make("section", {}, heading("Heads"), heads.element),
            make("section", {}, heading("Source positions"), positions),
            make("section", {}, heading("Length penalty"), penalty)));
    list.hidden = true;
    return { element, intervention, show };
}

/** A button for each head. A pressed one is off. The name of a layer switches all of its heads. */
function headsPart({ heads, architecture }, without, change) {
    const kinds = Object.entries(heads);
    if (!kinds.length) {
        return { element: hint(`A ${architecture} model has no heads to switch off.`), refresh() {} };
    }
    const buttons = new Map();
    const refresh = () => buttons.forEach((button, head) =>
        button.setAttribute("aria-pressed", String(without.has(head))));
    const turn = (names) => {
        const off = names.some((head) => !without.has(head));
        names.forEach((head) => (off ? without.add(head) : without.delete(head)));
        refresh();
        change();
    };
    const grid = ([kind, [layers, count]]) => {
        const name = kind[0].toUpperCase() + kind.slice(1);
        const rows = Array.from({ length: layers }, (_, layer) => {
            const names = Array.from({ length: count }, (_, head) => `${kind}.${layer + 1}.${head + 1}`);
            const all = make("button", { type: "button", class: "layer", onclick: () => turn(names),
                "aria-label": `${name} layer ${layer + 1}, all heads` }, `layer ${layer + 1}`);
            const each = names.map((head, i) => make("button", { type: "button", class: "head", "data-off": head,
                "aria-label": `Switch off ${kind} layer ${layer + 1}, head ${i + 1}`, onclick: () => turn([head]) },
            String(i + 1)));
            names.forEach((head, i) => buttons.set(head, each[i]));
            return [all, ...each];
        });
        roving(rows.flat(), { next: (i, key) =>
            ({ ArrowDown: i + count + 1, ArrowUp: i - count - 1 })[key] });
        return make("div", { class: "switches", role: "group", "aria-label": `${name} heads`,
            style: { "--columns": count } }, make("span", { class: "kind" }, name), rows);
    };
    const element = make("div", { class: "kinds" }, kinds.map(grid));
    refresh();
    return { element, refresh };
}

/** The translation of the last run. A chosen token shows its alternatives. */
function wordsPart(trace, state, lists, change) {
    const beneath = make("div", { class: "alternatives" });
    const isForced = (i) => state.force.has(i + 1);
    const tokens = trace.target.tokens.map((token, i) => ({ ...token, element: make("span", {
        class: `piece${token.word === null ? " special" : ""}${isForced(i) ? " forced" : ""}`,
        "data-place": i + 1,
        "aria-pressed": "false",
        "aria-label": `Step ${i + 1}: ${nameOf(token)}${isForced(i) ? ", forced" : ""}`,
        dir: token.word === null ? "ltr" : null,
        style: { "--part": trace.steps[i].probability },
        ...pressable(() => choose(i)),
    }) }));
    const spans = trace.target.words.map(() => make("span", { class: "word" }));
    const line = make("p", { class: "sentence", role: "group", "aria-label": "Tokens of the translation",
        ...inLanguage(trace.target.language, trace.target.text) }, runningTokens(trace, tokens, spans));
    const start = Math.min(lists.step ?? 0, tokens.length - 1);
    roving(tokens.map(({ element }) => element), { backwards: line.dir === "rtl", start });

    function choose(i) {
        lists.step = lists.step === i && beneath.childNodes.length ? null : i;
        tokens.forEach(({ element }, n) => element.setAttribute("aria-pressed", String(n === lists.step)));
        beneath.replaceChildren(...(lists.step === null ? [] : insteadOf(trace, i, state, change)));
    }

    if (lists.step !== null && lists.step < tokens.length) {
        const again = lists.step;
        lists.step = null;
        choose(again);
    }
    return [hint("Choose a token to ban it or to force another."), line, beneath];
}

/** The likeliest tokens of a step, with buttons that force or ban them. */
function insteadOf(trace, i, state, change) {
    const step = i + 1;
    const { token, alternatives } = trace.steps[i];
    const listed = alternatives.slice(0, SHOWN_ALTERNATIVES);
    if (!listed.some((one) => one.token === token)) listed.push(trace.steps[i]);
    const most = Math.max(...listed.map(({ probability }) => probability));
    const press = (text, label, action, pressed) => make("button", { type: "button", "aria-label": label,
        "aria-pressed": String(pressed), onclick() {
            action();
            change();
        } }, text);
    const banned = (one, at) => state.ban.find((ban) => ban.token === one.token && ban.step === at);
    const force = (one) => {
        if (state.force.get(step) === one.token) state.force.delete(step);
        else state.force.set(step, one.token);
        state.ban = state.ban.filter((ban) => ban.token !== one.token || (ban.step !== step && ban.step !== null));
    };
    const ban = (one, at) => {
        const known = banned(one, at);
        if (known) state.ban = state.ban.filter((other) => other !== known);
        else state.ban = [...state.ban, { step: at, token: one.token }];
        state.force.forEach((token, forced) => {
            if (token === one.token && (at === null || at === forced)) state.force.delete(forced);
        });
    };
    const row = (one) => make("tr", { class: one.token === token ? "taken" : null },
        make("th", { scope: "row" }, isolated(nameOf(one)), one.token === token && " ✓"),
        barCell(one.probability / most), make("td", {}, asWeight(one.probability)),
        make("td", { class: "acts" },
            press("force", `Force ${nameOf(one)} at step ${step}`, () => force(one), state.force.get(step) === one.token),
            press("ban here", `Ban ${nameOf(one)} at step ${step}`, () => ban(one, step), Boolean(banned(one, step))),
            press("ban everywhere", `Ban ${nameOf(one)} everywhere`, () => ban(one, null), Boolean(banned(one, null)))));
    return [make("h4", {}, `Step ${step}: `, isolated(nameOf(trace.steps[i]))),
        make("div", { class: "scroll" }, figureTable({ caption: `The most probable tokens at step ${step}`, quiet: true,
            head: ["token", "bar", "probability", "change"], rows: listed.map(row) }))];
}

function positionsPart({ shift, no_positions: none, architecture }, state, change) {
    if (!none) return [hint(`This ${architecture} model has no positions.`)];
    const now = () => (state.no_positions ? "none" : state.shift ? "shifted" : "own");
    const knob = slider({ label: "By", values: MOVES, value: state.shift || 1, change(by) {
        state.shift = by;
        change();
    } });
    knob.element.hidden = !state.shift;
    const kinds = [["own", "Its own"], ...(shift ? [["shifted", "Shifted"]] : []), ["none", "None"]];
    return [choice({ label: "Position of each token", value: now(),
        options: kinds.map(([value, text]) => ({ value, text, data: { "data-positions": value } })),
        change(kind) {
            state.no_positions = kind === "none";
            state.shift = kind === "shifted" ? state.shift || 1 : 0;
            knob.set(state.shift || 1);
            knob.element.hidden = !state.shift;
            change();
        } }), knob.element];
}

function penaltyPart(trace, state, change) {
    if (!trace) return [];
    const own = trace.search.length_penalty;
    const values = [...new Set([...PENALTIES, own])].sort((a, b) => a - b);
    return [slider({ label: "Above 0 favours longer translations:", values, value: state.length_penalty ?? own,
        show: (value) => (value === own ? `${value}, the model's` : String(value)),
        change(value) {
            state.length_penalty = value === own ? null : value;
            change();
        } }).element];
}
