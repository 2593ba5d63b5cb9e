// The list of words that may replace one: by mouse, or with the arrow keys.

import { percent } from "./controls.js";
import { by, make } from "./dom.js";

export class Menu {
    #items = [];
    #active = -1;

    /** `back()` gives the focus back. */
    constructor(back) {
        this.element = by("menu");
        this.back = back;
        this.element.addEventListener("keydown", (event) => this.#key(event));
        this.element.addEventListener("focusout", () => this.close());
        // The text field keeps the focus, and its caret.
        this.element.addEventListener("mousedown", (event) => event.preventDefault());
    }

    get open() {
        return !this.element.hidden;
    }

    /** Open at an element, empty until `offer`. */
    openAt(anchor, label) {
        const [place, field] = [anchor.getClientRects()[0] ?? anchor.getBoundingClientRect(), this.element.parentElement];
        const frame = field.getBoundingClientRect();
        this.element.setAttribute("aria-label", label);
        this.element.hidden = false;
        this.#fill([make("div", { class: "soft wait", role: "option", "aria-disabled": "true" }, "Looking…")]);
        this.element.style.top = `${place.bottom - frame.top + 6}px`;
        const left = Math.min(place.left - frame.left, frame.width - this.element.offsetWidth);
        this.element.style.left = `${Math.max(0, left)}px`;
    }

    /** Offer words: {text, probability}. `current` is the one that is there; `choose` gets the one that is chosen. */
    offer(words, current, choose) {
        this.#items = words;
        this.choose = choose;
        const options = words.map((word, i) =>
            make("div", { role: "option", id: `menu-${i}`, "aria-selected": String(word.text === current), onclick: () => this.#take(i) },
                make("bdi", {}, word.text), make("span", { class: "soft", dir: "ltr" }, percent(word.probability))));
        this.#fill(options.length ? options : [this.#note("Nothing else is likely here.")]);
        if (document.activeElement === this.element) this.#point(0);
    }

    /** Say why no words are offered. */
    explain(text) {
        this.#fill([this.#note(text)]);
    }

    #note(text) {
        return make("div", { class: "soft wait", role: "option", "aria-disabled": "true" }, text);
    }

    #fill(options) {
        this.#active = -1;
        this.element.removeAttribute("aria-activedescendant");
        this.element.replaceChildren(...options);
        if (options[0].classList.contains("wait")) this.#items = [];
    }

    /** Move the focus into the list. */
    enter() {
        this.element.focus();
        this.#point(0);
    }

    close() {
        this.element.hidden = true;
    }

    #point(i) {
        if (!this.#items.length) return;
        this.element.children[this.#active]?.classList.remove("active");
        this.#active = (i + this.#items.length) % this.#items.length;
        const option = this.element.children[this.#active];
        option.classList.add("active");
        option.scrollIntoView({ block: "nearest" });
        this.element.setAttribute("aria-activedescendant", option.id);
    }

    #key(event) {
        const last = this.#items.length - 1;
        const to = { ArrowDown: this.#active + 1, ArrowUp: this.#active - 1, Home: 0, End: last }[event.key];
        if (to !== undefined) this.#point(to);
        else if (["Enter", " "].includes(event.key) && this.#active >= 0) this.#take(this.#active);
        else if (["Escape", "Tab"].includes(event.key)) this.back();
        else return;
        event.preventDefault();
    }

    #take(i) {
        const word = this.#items[i];
        this.close();
        this.back();
        this.choose(word);
    }
}
