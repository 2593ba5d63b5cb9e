// A text field with marks: a textarea, and under it the same text in elements, which have the same places.

import { make } from "./dom.js";

const CONFIDENT = 0.5; // probability of a word; less is unsure
const DOUBTED = 0.2; // less is very unsure

/** The class of a word of the translation, and its name. */
export function certainty({ chosen, confidence }) {
    if (chosen) return "chosen";
    if (confidence === null || confidence >= CONFIDENT) return "sure";
    return confidence >= DOUBTED ? "unsure" : "very-unsure";
}

export class Pane {
    #marked = [];

    /** `side` is "source" or "target", as in the sentences of a draft. */
    constructor(root, side) {
        this.side = side;
        this.root = root;
        this.field = root.querySelector("textarea");
        this.under = root.querySelector(".under");
        this.shown = [];
    }

    get text() {
        return this.field.value;
    }

    /** Show a text with its sentences. The caret stays where it is. */
    show(text, sentences) {
        if (text !== this.field.value) {
            const { selectionStart: start, selectionEnd: end, selectionDirection: way } = this.field;
            this.field.value = text;
            if (document.activeElement === this.field) this.field.setSelectionRange(start, end, way);
        }
        this.shown = [];
        const parts = [];
        let done = 0;
        for (const sentence of sentences) {
            const [start, end] = sentence[this.side];
            if (start < done) continue; // never: but a mark must not double text
            parts.push(text.slice(done, start));
            const words = this.#words(sentence, text.slice(start, end));
            const marks = this.side === "target" ? { "by-hand": sentence.byHand, lacking: sentence.lacking } : {};
            const names = ["part", ...Object.keys(marks).filter((name) => marks[name])];
            const element = make("span", { class: names.join(" ") }, ...words.all);
            this.shown.push({ element, words: words.elements });
            parts.push(element);
            done = end;
        }
        this.under.replaceChildren(...parts, text.slice(done), "\u200b"); // it gives a last empty line its height
        this.#marked = [];
    }

    #words(sentence, text) {
        const spans =
            this.side === "source"
                ? sentence.sourceWords.map(([start, end]) => ({ start, end, name: "word" }))
                : sentence.words.map((word) => ({ ...word, name: `word ${certainty(word)}` }));
        const [all, elements] = [[], []];
        let done = 0;
        for (const { start, end, name } of spans) {
            all.push(text.slice(done, start));
            elements.push(make("span", { class: name }, text.slice(start, end)));
            all.push(elements.at(-1));
            done = end;
        }
        return { all: [...all, text.slice(done)], elements };
    }

    /** Mark a sentence, and words of it. A mark is [class, number of the sentence, number of the word or null]. */
    mark(marks) {
        for (const [element, name] of this.#marked) element.classList.remove(name);
        this.#marked = marks.flatMap(([name, sentence, word]) => {
            const shown = this.shown[sentence];
            const element = word === null ? shown?.element : shown?.words[word];
            return element ? [[element, name]] : [];
        });
        for (const [element, name] of this.#marked) element.classList.add(name);
    }

    /** The sentence and the word under a point of the window, as numbers; null if no word is there. */
    over(x, y) {
        const inside = ({ left, right, top, bottom }) => left <= x && x <= right && top <= y && y <= bottom;
        for (const [sentence, { element, words }] of this.shown.entries()) {
            if (![...element.getClientRects()].some(inside)) continue;
            const word = words.findIndex((one) => [...one.getClientRects()].some(inside));
            if (word >= 0) return { sentence, word };
        }
        return null;
    }
}
