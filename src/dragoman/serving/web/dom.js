// Elements, the same for every page. Texts of users, files and servers become text nodes only: nothing parses markup.

const SVG = "http://www.w3.org/2000/svg";

/** The element with this id. */
export const by = (id) => document.getElementById(id);

/** An HTML element. Names that begin with "on" are listeners, "style" is an object of properties. */
export function make(tag, attributes, ...children) {
    return furnish(document.createElement(tag), attributes, children);
}

/** The same for SVG. */
export function draw(tag, attributes, ...children) {
    return furnish(document.createElementNS(SVG, tag), attributes, children);
}

export function furnish(element, attributes, children) {
    for (const [name, value] of Object.entries(attributes ?? {})) {
        if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
        else if (name === "style") for (const [key, of] of Object.entries(value)) element.style.setProperty(key, of);
        else if (value === true) element.setAttribute(name, "");
        else if (value !== false && value != null) element.setAttribute(name, value);
    }
    // One by one: a large tree has more than a function may have arguments.
    for (const child of children.flat(3)) if (child != null && child !== false) element.append(child);
    return element;
}

/** A box that scrolls, so that the page does not. */
export function scrolling(label, ...children) {
    return make("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": label }, ...children);
}
