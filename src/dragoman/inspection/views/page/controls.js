// The controls that the views share.

import { directionOf } from "./data.js";
import { make, scrolling } from "./dom.js";

/** The text of a token inside other text, isolated so that its direction does not affect the rest. */
export const isolated = (text) => make("bdi", { class: "name", dir: "auto" }, text);

/** The attributes for language and direction of a text. `lang` is set only for a valid language code. */
export function inLanguage(language, text) {
    return { lang: /^[a-z]{2,3}(-[a-z0-9]+)*$/i.test(language ?? "") ? language : null, dir: directionOf(text) };
}

export const paragraph = (...children) => make("p", {}, ...children);
export const hint = (...children) => make("p", { class: "hint" }, ...children);
export const heading = (text) => make("h3", {}, text);
export const live = () => make("div", { class: "readout", "aria-live": "polite" });

/** One column for each trace; with two of them, each under its name. */
export function beside(traces, panels) {
    if (traces.length < 2) return make("div", {}, panels[0]);
    const which = (trace, i) => make("p", { class: "which" }, trace.run
        ? [make("b", {}, trace.run), ": ", isolated(trace.target.text)]
        : [make("b", {}, "AB"[i]), " ", isolated(trace.model.title), ": ", isolated(trace.source.text)]);
    return make("div", { class: "pair" }, traces.map((trace, i) => make("div", {}, which(trace, i), panels[i])));
}

const columnName = (text) => (text ? make("th", { scope: "col", dir: "auto" }, text) : make("td", {}));

/** A table whose first column names the rows. `kind` names its numbers. */
export function table(kind, caption, head, rows) {
    const cell = (value, i) =>
        i === 0 ? make("th", { scope: "row", dir: "auto" }, value) : make("td", { dir: "auto" }, value);
    return make("table", { "data-numbers": kind },
        make("caption", {}, caption),
        make("thead", {}, make("tr", {}, head.map(columnName))),
        make("tbody", {}, rows.map((row) => make("tr", {}, row.map(cell)))));
}

/** A table whose caption, and with `quiet` also its head, is for screen readers only. */
export function figureTable({ caption, head, rows, kind = null, quiet = false }) {
    return make("table", { class: kind },
        make("caption", { class: "unseen" }, caption),
        head && make("thead", { class: quiet ? "unseen" : null }, make("tr", {}, head.map(columnName))),
        make("tbody", {}, rows));
}

/** A cell with a bar that fills the given part of it. */
export const barCell = (part) =>
    make("td", { class: "bar", "aria-hidden": "true" }, make("span", { style: { "--part": part } }));

/** A bar to the left or right of zero, for a cell of the class "signed". */
export const signedBar = (value, limit) => make("span", {
    class: value < 0 ? "below" : "above", style: { "--part": Math.abs(value) / limit },
});

/** Names and their values. */
export const factList = (facts) =>
    make("dl", {}, facts.map(([name, text]) => [make("dt", {}, name), make("dd", { dir: "auto" }, text)]));

/** "Show the numbers": `build` makes the table when it is opened, and again on `refresh` while it is open. */
export function numbers(build) {
    const box = scrolling("The numbers");
    const refresh = () => details.open && box.replaceChildren(build());
    const details = make("details", { class: "numbers", ontoggle: refresh },
        make("summary", {}, "Show the numbers"), box);
    return { element: details, refresh };
}

/** A row of controls, left out of print. */
export const controls = (...children) => make("div", { class: "controls" }, ...children);

export const asNumber = (value) => value.toLocaleString("en", { maximumFractionDigits: 9 });

/** A slider over ascending `values` with any spacing. `change` gets the chosen value. */
export function slider({ label, values, value, show = asNumber, change }) {
    const output = make("output", {});
    const input = make("input", { type: "range", "aria-label": label, min: 0, max: values.length - 1, step: 1 });
    const tell = () => {
        output.textContent = show(values[input.value]);
        input.setAttribute("aria-valuetext", output.textContent);
    };
    const set = (to) => {
        input.value = Math.max(0, values.filter((candidate) => candidate <= to).length - 1); // they ascend
        tell();
    };
    input.addEventListener("input", () => {
        tell();
        change(values[input.value]);
    });
    set(value);
    return { element: make("label", { class: "control" }, make("span", {}, label, " ", output), input), set };
}

/** Buttons of which one is pressed. Options are {value, text, data}; `data` becomes data-* attributes. */
export function choice({ label, options, value, change }) {
    const press = (chosen) => {
        buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(options[i].value === chosen)));
    };
    const buttons = options.map((option) => make("button", {
        type: "button",
        ...option.data,
        onclick() {
            press(option.value);
            change(option.value);
        },
    }, option.text));
    press(value);
    return make("div", { class: "control" }, make("span", {}, label),
        make("div", { class: "choice", role: "group", "aria-label": label }, buttons));
}

/** A box to tick. */
export function tick({ label, value, change }) {
    const input = make("input", { type: "checkbox", onchange: () => change(input.checked) });
    input.checked = value;
    return make("label", { class: "control tick" }, input, label);
}

/**
 * One stop of the Tab key for many elements: arrows, Home and End move among them.
 * `next(index, key)` may return the index that a key leads to. If it returns undefined, the list's order decides.
 */
export function roving(elements, { next = () => undefined, backwards = false, start = 0 } = {}) {
    const step = backwards ? -1 : 1;
    const along = (index, key) => ({
        ArrowRight: index + step, ArrowLeft: index - step, ArrowDown: index + 1, ArrowUp: index - 1,
        Home: 0, End: elements.length - 1,
    })[key];
    const enter = (index) => elements.forEach((element, i) => element.setAttribute("tabindex", i === index ? 0 : -1));
    elements.forEach((element, index) => {
        element.addEventListener("focus", () => enter(index));
        element.addEventListener("keydown", (event) => {
            const to = next(index, event.key) ?? along(index, event.key);
            if (to === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
            event.preventDefault();
            elements[to]?.focus();
        });
    });
    enter(Math.min(start, elements.length - 1));
}

/** Attributes that make an element act as a button. */
export function pressable(action) {
    return {
        role: "button",
        onclick: action,
        onkeydown(event) {
            if (event.key !== "Enter" && event.key !== " ") return;
            event.preventDefault();
            action();
        },
    };
}

/** A list of tabs over panels {name, title, panel}. `show(name)` selects one. */
export function tabs(panels, shown) {
    const buttons = panels.map(({ name, title }) => make("button", {
        type: "button", role: "tab", id: `tab-${name}`, "aria-controls": `view-${name}`, onclick: () => show(name),
    }, title));
    const show = (name) => {
        panels.forEach((one, i) => {
            one.panel.hidden = one.name !== name;
            buttons[i].setAttribute("aria-selected", String(one.name === name));
            buttons[i].setAttribute("tabindex", one.name === name ? 0 : -1);
        });
        const button = buttons[panels.findIndex((one) => one.name === name)];
        element.scrollLeft = button.offsetLeft - (element.clientWidth - button.offsetWidth) / 2;
        shown(name);
    };
    const element = make("div", { class: "tabs", role: "tablist", "aria-label": "Views" }, buttons);
    roving(buttons);
    buttons.forEach((button, i) => button.addEventListener("focus", () => show(panels[i].name)));
    return { element, show };
}
