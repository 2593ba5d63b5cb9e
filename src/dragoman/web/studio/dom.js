// Elements. Texts come from files and stay text: nothing on the page parses markup.

const SVG = "http://www.w3.org/2000/svg";

/** An HTML element. Names that begin with "on" are listeners, "style" is an object of properties. */
export function make(tag, attributes, ...children) {
    return furnish(document.createElement(tag), attributes, children);
}

/** The same for SVG. */
export function draw(tag, attributes, ...children) {
    return furnish(document.createElementNS(SVG, tag), attributes, children);
}

function furnish(element, attributes, children) {
    for (const [name, value] of Object.entries(attributes ?? {})) {
        if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
        else if (name === "style") for (const [key, of] of Object.entries(value)) element.style.setProperty(key, of);
        else if (value === true) element.setAttribute(name, "");
        else if (value !== false && value != null) element.setAttribute(name, value);
    }
    element.append(...children.flat(3).filter((child) => child != null && child !== false));
    return element;
}

/** A box that scrolls, so that the page does not. */
export function scrolling(label, ...children) {
    return make("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": label }, ...children);
}

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
