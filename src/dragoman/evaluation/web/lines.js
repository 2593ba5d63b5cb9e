// The lines: chosen by kind, fault and search, sorted, and shown a page at a time.

import { controls, hint, inLanguage } from "../../inspection/views/page/controls.js";
import { measuresOf, menu, together } from "./breakdown.js";
import { make } from "./dom.js";
import { differing } from "./marks.js";
import { MEASURES } from "./measures.js";
import { signed } from "./scores.js";

const PAGE = 50;
const PLACES = [["any", "all texts"], ["source", "the source"], ["reference", "the references"], ["text", "the translations"]];

export function lineList(data, lineScores) {
    const { systems, sources, references } = data;
    const state = { measure: "chrf", order: "worst", system: systems.length - 1, other: 0, fault: "", query: "", place: "any" };
    let kind = null, chosen = [], shown = 0;

    const score = (number, line) => lineScores(systems[number], state.measure)[line];
    const better = () => (MEASURES[state.measure]?.lower ? -1 : 1);
    const gain = (line) => better() * (score(state.system, line) - score(state.other, line));
    const orders = {
        worst: ["worst first", (line) => better() * score(state.system, line)],
        best: ["best first", (line) => -better() * score(state.system, line)],
        ...(systems.length > 1 && {
            apart: ["largest difference first", (line) => -Math.abs(gain(line))],
            behind: ["most behind the other first", gain],
            ahead: ["most ahead of the other first", (line) => -gain(line)],
        }),
        file: ["as in the file", (line) => line],
        long: ["longest source first", (line) => -sources[line].length],
        rare: ["rarest words first", (line) => data.rare[line]],
    };

    const textsOf = (line) => {
        const parts = { source: [sources[line]], reference: references.map((one) => one[line] ?? ""),
            text: systems.map((one) => one.texts[line]) };
        return state.place === "any" ? Object.values(parts).flat() : parts[state.place];
    };

    const list = make("ol", { class: "lines" });
    const summary = make("p", { role: "status" });
    const problem = make("p", { class: "problem", role: "alert" });
    const more = make("button", { type: "button", class: "play", onclick: () => show(true) });
    const all = make("button", { type: "button", class: "play", onclick: () => only("", null) }, "Show all kinds");

    function choose() {
        let pattern = null;
        problem.textContent = "";
        try {
            pattern = state.query && new RegExp(state.query, "iu");
        } catch (error) {
            problem.textContent = error.message;
        }
        const has = (line) => !state.fault || systems[state.system].faults[line].some(([name]) => name === state.fault);
        const matches = (line) => !pattern || textsOf(line).some((text) => pattern.test(text));
        chosen = (kind?.lines ?? sources.map((_, line) => line)).filter((line) => has(line) && matches(line));
        const by = orders[state.order][1];
        const keys = new Map(chosen.map((line) => [line, by(line)]));
        chosen.sort((a, b) => keys.get(a) - keys.get(b) || a - b);
        tell();
        list.replaceChildren();
        shown = 0;
        show();
    }

    function tell() {
        const count = `${chosen.length.toLocaleString("en")} of ${sources.length.toLocaleString("en")} lines`;
        const name = measuresOf(systems).find(([key]) => key === state.measure)[1];
        const scores = chosen.length ? systems.map((one) => together(one, state.measure, chosen).toFixed(2)).join(" | ") : "";
        summary.textContent = [kind && `${kind.name}`, count, scores && `${name} of them together: ${scores}`].filter(Boolean).join(" · ");
        all.hidden = !kind;
    }

    function show(further = false) {
        const rows = chosen.slice(shown, shown + PAGE).map(row);
        list.append(...rows);
        shown += rows.length;
        more.hidden = shown >= chosen.length;
        more.textContent = `Show ${Math.min(PAGE, chosen.length - shown)} more`;
        if (further && rows.length) rows[0].focus();
    }

    function row(line) {
        const [source, target] = data.languages;
        const labels = [data.groups[line], data.documents[line]].filter(Boolean);
        const text = (name, language, value, kind, ...rest) => [
            make("dt", { dir: "auto" }, name),
            make("dd", { class: kind, ...inLanguage(language, value) }, ...(rest.length ? rest : [value])),
        ];
        return make("li", { tabindex: -1, "data-line": line + 1 },
            make("p", { class: "where" }, `Line ${line + 1}`, labels.map((label) => make("bdi", {}, ` · ${label}`))),
            make("dl", {},
                text("source", source, sources[line], "source"),
                references.map((one, i) => text(references.length > 1 ? `reference ${i + 1}` : "reference",
                    target, one[line] ?? "", "reference")),
                systems.map((one, number) => [
                    text(one.name, target, one.texts[line], "text", differing(one.texts[line], references.map((each) => each[line]).find((each) => each) ?? "")),
                    make("dd", { class: "figures" }, figures(one, number, line)),
                ])),
            systems.map((one) => one.command && inspecting(one, line)));
    }

    function figures(system, number, line) {
        const parts = measuresOf(systems).map(([key, name]) => make("span", { class: key === state.measure ? "main" : null },
            `${name} ${lineScores(system, key)[line].toFixed(1)}`));
        const change = number === state.system && systems.length > 1 && state.other !== number
            ? make("span", {}, `${signed(score(number, line) - score(state.other, line), 1)} against ${systems[state.other].name}`) : null;
        const faults = system.faults[line].map(([name, detail]) =>
            make("span", { class: "fault" }, detail ? [`${name}: `, make("bdi", {}, detail)] : name));
        return [parts, change, faults];
    }

    function inspecting(system, line) {
        const context = data.contexts[line] && system.inContext ? ["--context", quoted(data.contexts[line])] : [];
        const given = system.texts[line].trim() ? [`--target=${quoted(system.texts[line])}`] : [];
        const source = [...(sources[line].startsWith("-") ? ["--"] : []), quoted(sources[line])];
        const command = [system.command, ...context, ...given, ...source].join(" ");
        const code = make("code", {}, command);
        const told = make("span", { role: "status" });
        const copy = async () => {
            try {
                await navigator.clipboard.writeText(command);
                told.textContent = "Copied";
            } catch {
                getSelection().selectAllChildren(code);
                told.textContent = "Selected: press Ctrl+C";
            }
        };
        return make("details", { class: "inside" }, make("summary", {}, "Look inside: ", make("bdi", {}, system.name)),
            make("p", {}, code, " ", make("button", { type: "button", class: "play", onclick: copy }, "Copy"), " ", told));
    }

    const set = (name, of = (value) => value) => (value) => {
        state[name] = of(value);
        if (name === "system") refill();
        choose();
    };
    const names = systems.map((one, i) => [String(i), one.name]);
    const faultMenu = menu("Fault", [], set("fault"));
    const refill = () => {
        const counts = new Map();
        for (const found of systems[state.system].faults) {
            for (const name of new Set(found.map(([kind]) => kind))) counts.set(name, (counts.get(name) ?? 0) + 1);
        }
        if (!counts.has(state.fault)) state.fault = "";
        const options = [["", "any or none"], ...[...counts].sort().map(([name, count]) => [name, `${name} (${count})`])];
        const select = faultMenu.querySelector("select");
        select.replaceChildren(...options.map(([value, text]) => make("option", { value }, text)));
        select.value = state.fault;
    };
    const valued = (element, value) => {
        element.querySelector("select").value = String(value);
        return element;
    };
    let waiting = 0;
    const search = make("input", { type: "search", spellcheck: "false", autocomplete: "off", oninput: () => {
        clearTimeout(waiting);
        waiting = setTimeout(() => set("query")(search.value), 200);
    } });

    function only(name, lines) {
        kind = lines && { name, lines };
        choose();
        document.getElementById("lines").focus();
    }

    refill();
    choose();
    const element = make("div", {},
        controls(
            make("label", { class: "control" }, make("span", {}, "Search (regular expression)"), search),
            menu("In", PLACES, set("place")),
            faultMenu,
            menu("Sort", Object.entries(orders).map(([key, [name]]) => [key, name]), set("order")),
            valued(menu("Measure", measuresOf(systems), set("measure")), state.measure),
            names.length > 1 && valued(menu("System", names, set("system", Number)), state.system),
            names.length > 1 && valued(menu("Compared with", names, set("other", Number)), state.other)),
        problem, make("div", { class: "together" }, summary, all), list, more,
        hint("Words of a translation that the reference does not have in this order are underlined."));
    return { element, only };
}

/** A text as one word of a shell. */
const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;
