// Details of one sentence: other translations, matches of the memory, and whether to keep a correction.

import { Failure, ask } from "./api.js";
import { inLanguage, percent } from "./controls.js";
import { by, make } from "./dom.js";

const LISTS = ["alternatives", "matches"];
const CALM = 400; // milliseconds without a change before a request

export class SentencePanel {
    #timer = 0;
    #running = null;
    #asked = "";
    #kept = ""; // the source and the translation that were kept last

    /** `choose(sentence, choice)` as in Draft; `request(sentence)` has the fields of every request about it. */
    constructor({ choose, request, remembers }) {
        Object.assign(this, { choose, request, remembers, sentence: null });
        by("keep").addEventListener("click", () => this.#keep());
        by("undo").addEventListener("click", () => this.choose(this.sentence, {}));
    }

    /** Show a sentence of the draft, or null. */
    show(sentence) {
        const other = sentence?.original !== this.sentence?.original || sentence?.text !== this.sentence?.text;
        this.sentence = sentence;
        by("sentence").hidden = sentence === null;
        if (sentence === null) return this.#stop();
        const changed = sentence.changed && sentence.text !== sentence.machine;
        const kept = this.#kept === `${sentence.original}\n${sentence.text}`;
        by("keep").hidden = kept || !(this.remembers() && changed && sentence.text.trim());
        by("undo").hidden = !sentence.changed;
        by("read").hidden = !sentence.context;
        by("read").textContent = sentence.context ? `Read with the text before it: ${sentence.context}` : "";
        if (other) by("kept").textContent = "";
        const about = JSON.stringify(this.request(sentence));
        if (about === this.#asked) return this.#hideShown();
        this.#stop();
        this.#asked = about;
        for (const id of LISTS) by(id).inert = true; // until it belongs to this sentence
        this.#timer = setTimeout(() => this.#look(sentence), CALM);
    }

    /** Forget the results: the memory or the choice of models has changed. */
    refresh() {
        this.#asked = "";
        this.show(this.sentence);
    }

    #stop() {
        clearTimeout(this.#timer);
        this.#running?.abort();
        this.#asked = "";
    }

    async #look(sentence) {
        const { signal } = (this.#running = new AbortController());
        const body = this.request(sentence);
        const [others, matches] = await Promise.all([
            this.#try("v1/alternatives", body, signal),
            this.remembers() ? this.#try("v1/matches", body, signal) : null,
        ]);
        if (signal.aborted) return;
        for (const id of LISTS) by(id).inert = false;
        this.#list("alternatives", others?.alternatives.length ? [others, ...others.alternatives] : [], ({ text }) => ({
            text,
            items: [make("bdi", {}, text)],
        }));
        this.#hideShown();
        this.#list("matches", matches?.matches ?? [], ({ source, target, score }) => ({
            text: target,
            items: [
                make("b", { class: "score", dir: "ltr" }, score >= 100 ? "100 %" : percent(score / 100)),
                make("bdi", {}, target),
                make("small", { class: "soft" }, make("bdi", {}, source)),
            ],
        }));
    }

    /** Among other translations the model's own is the first: hide the one that is shown. */
    #hideShown() {
        for (const one of by("alternatives").querySelectorAll("li")) one.hidden = one.textContent === this.sentence.text;
    }

    async #try(path, body, signal) {
        try {
            return await ask(path, body, { signal });
        } catch (error) {
            if (error instanceof Failure || error.name === "AbortError") return null; // the translation says why
            throw error;
        }
    }

    #list(id, found, shown) {
        const list = by(id).querySelector("ul");
        inLanguage(this.request(this.sentence).target, list);
        list.replaceChildren(...found.map((one) => {
            const { text, items } = shown(one);
            return make("li", {}, make("button", { type: "button", onclick: () => this.choose(this.sentence, { text }) }, ...items));
        }));
        by(id).hidden = !found.length;
    }

    async #keep() {
        const { sentence } = this;
        const { text, source, target } = this.request(sentence);
        by("keep").disabled = true;
        try {
            await ask("v1/corrections", { text, translation: sentence.text, machine: sentence.machine, source, target });
            by("kept").textContent = "Kept in the memory.";
            this.#kept = `${sentence.original}\n${sentence.text}`;
            this.refresh();
        } catch (error) {
            if (!(error instanceof Failure)) throw error;
            by("kept").textContent = `Not kept: ${error.message}`;
        } finally {
            by("keep").disabled = false;
        }
    }
}
