// The languages, and the other choices: a model, an adapter, a list of terms.

import { fill } from "./controls.js";
import { by, make } from "./dom.js";
import { keep, kept } from "./kept.js";

const STORED = "dragoman-languages";

export class Languages {
    #detected = null;

    /** `changed(what)`: "languages" or "options". */
    constructor(changed) {
        Object.assign(this, { changed, sourceSelect: by("source-language"), targetSelect: by("target-language"), selects: {} });
        this.sourceSelect.addEventListener("change", () => this.#chosen(this.target));
        this.targetSelect.addEventListener("change", () => this.#chosen(this.target));
        by("options").addEventListener("change", () => this.changed("options"));
    }

    /** Offer the languages and models of the server. Without `detects` the source language has to be chosen. */
    offer({ languages, models, detects = true }, wanted = null) {
        this.languages = languages;
        this.models = models;
        this.names = new Map(languages.map(({ code, name }) => [code, name]));
        const sources = languages.filter(({ targets }) => targets.length);
        const offered = [...(detects ? [["", "Detect"]] : []), ...sources.map(({ code, name }) => [code, name])];
        const [source, target] = wanted ?? this.#stored();
        fill(this.sourceSelect, offered, source);
        this.#offerTargets(target);
    }

    #stored() {
        try {
            return JSON.parse(kept(STORED)) ?? ["", ""];
        } catch {
            return ["", ""];
        }
    }

    /** The code of the source language, or null to detect it. */
    get source() {
        return this.sourceSelect.value || null;
    }

    get target() {
        return this.targetSelect.value;
    }

    /** The code of the source language, chosen or detected; null if neither. */
    get spoken() {
        return this.source ?? this.#detected;
    }

    /** The options of a request. */
    get options() {
        return Object.fromEntries(Object.entries(this.selects).flatMap(([name, { value }]) => (value ? [[name, value]] : [])));
    }

    /** The language that the server detected, and how sure it is, from 0 to 1. */
    detected(code, confidence = 1) {
        this.#detected = code;
        const option = this.sourceSelect.querySelector('option[value=""]');
        const how = code === this.target ? "auto, not translated" : confidence < 0.5 ? "auto, not certain" : "auto";
        if (option) option.textContent = this.source === null && code ? `${this.names.get(code) ?? code} (${how})` : "Detect";
    }

    /** Choose languages, if they are there. Returns whether they are. */
    choose(source, target) {
        const before = [this.sourceSelect.value, this.target];
        this.sourceSelect.value = source ?? "";
        if (this.sourceSelect.selectedIndex >= 0) this.#offerTargets(target);
        const there = this.sourceSelect.selectedIndex >= 0 && this.target === target;
        if (!there) {
            this.sourceSelect.value = before[0];
            this.#offerTargets(before[1]);
        }
        return there;
    }

    /** Whether the target can be translated back. */
    get swaps() {
        const back = this.spoken;
        return Boolean(back && this.languages.find(({ code }) => code === this.target)?.targets.includes(back));
    }

    #chosen(target) {
        this.#detected = null;
        this.detected(null);
        this.#offerTargets(target);
        keep(STORED, JSON.stringify([this.sourceSelect.value, this.target]));
        this.changed("languages");
    }

    #offerTargets(wanted) {
        const codes = this.languages
            .filter(({ code }) => this.source === null || code === this.source)
            .flatMap(({ targets }) => targets);
        fill(this.targetSelect, [...new Set(codes)].map((code) => [code, this.names.get(code) ?? code]), wanted);
        this.#offerOptions();
    }

    #offerOptions() {
        const fits = ({ sources, targets }) => (this.source === null || sources.includes(this.source)) && targets.includes(this.target);
        const models = this.models.filter(({ pairs }) => pairs.some(fits));
        const names = (list) => [...new Set(models.flatMap((model) => model[list]))];
        const choices = {
            model: ["Model", models.length > 1 ? models.map(({ name }) => name) : []],
            adapter: ["Adapter", names("adapters")],
            terms: ["Terms", names("terms")],
        };
        const before = this.options;
        this.selects = {};
        const rows = Object.entries(choices).flatMap(([name, [label, values]]) => {
            if (!values.length) return [];
            const select = (this.selects[name] = make("select", { id: `option-${name}` }));
            fill(select, [["", name === "model" ? "default" : "none"], ...values.map((one) => [one, one])], before[name] ?? "");
            return [make("label", {}, make("span", {}, label), select)];
        });
        by("options").replaceChildren(...rows);
        by("options").hidden = !rows.length;
    }
}
