// Controls and tables that the views of the studio share.

import { make } from "./dom.js";

/** A table whose first column names the rows. A cell is a text or an element. */
export function table(caption, head, rows, kind = null) {
    const columns = head.map((text) => (text ? make("th", { scope: "col" }, text) : make("td", {})));
    const cell = (value, i) => (i ? make("td", { dir: "auto" }, value) : make("th", { scope: "row", dir: "auto" }, value));
    return make("table", { class: kind },
        make("caption", { class: "unseen" }, caption),
        make("thead", {}, make("tr", {}, columns)),
        make("tbody", {}, rows.map((row) => make("tr", {}, row.map(cell)))));
}

/** Buttons of which one is pressed. Options are {value, text}. */
export function choice(label, options, value, change) {
    const buttons = options.map((option) => make("button", { type: "button", onclick() {
        press(option.value);
        change(option.value);
    } }, option.text));
    const press = (chosen) =>
        buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(options[i].value === chosen)));
    press(value);
    return make("div", { class: "control" }, make("span", {}, label),
        make("div", { class: "choice", role: "group", "aria-label": label }, buttons));
}

/** A list to choose from. Options are {value, text}. */
export function select(label, options, value, change) {
    const list = make("select", { onchange: () => change(list.value) },
        options.map((option) => make("option", { value: option.value, selected: option.value === value }, option.text)));
    return make("label", { class: "control" }, make("span", {}, label), list);
}

/** Replace the children of an element, but leave it alone while it has the same content: a reader may be in it. */
export function renew(element, ...children) {
    const fresh = make("div", {}, ...children);
    if (fresh.innerHTML !== element.innerHTML) element.replaceChildren(...fresh.childNodes);
}
