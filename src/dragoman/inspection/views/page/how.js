// The page of the server: a sentence, what to change in its run, and the views of both runs.
//
// The address may give source, target and text, in the query or after #. The page then moves them behind #, which
// no server sees.

import { ask } from "../web/api.js";
import { changesPanel } from "./changes.js";
import { schemeButton } from "./colour.js";
import { readReport } from "./data.js";
import { inLanguage, paragraph } from "./controls.js";
import { make } from "./dom.js";
import { viewsOf, watchPrinting } from "./views.js";

async function openPage() {
    const app = document.getElementById("app");
    const title = make("header", {}, make("h1", {}, "How a translation comes about"),
        make("a", { href: "./" }, "Translate"), schemeButton());
    try {
        const offer = await ask("v1/how");
        if (offer.home) title.querySelector("a").href = offer.home;
        app.replaceChildren(title, ...workbench(offer));
    } catch (error) {
        const why = error.kind === "key" ? "The server asks for a key: enter it on the page for translating." : error.message;
        app.replaceChildren(title, paragraph(why));
    }
}

/**
 * `start` is how the address of a sentence begins, `views` the names of the views that are shown. A model translates each of
 * its `sources` to each other language of its `targets`. Its `model` is its name.
 */
function workbench({ models, limits, views, start = "#" }) {
    const from = make("select", { onchange: () => { offer(); restart(); } }, [...new Set(models.flatMap(({ sources }) => sources))].map(
        (source) => make("option", { value: source }, languageName(source))));
    const to = make("select", { onchange: restart });
    let pairs; // a model and a target for each option of `to`
    function offer() {
        const fitting = models.filter(({ sources }) => sources.includes(from.value));
        pairs = fitting.flatMap((model) => model.targets.filter((one) => one !== from.value).map((target) => ({ model, target })));
        to.replaceChildren(...pairs.map((one, i) => make("option", { value: i },
            `${languageName(one.target)}${several(one) ? `: ${one.model.model}` : ""}`)));
    }
    const several = ({ target }) => pairs.filter((one) => one.target === target).length > 1;
    const chosen = () => {
        const { target, model: { model } } = pairs[to.value];
        return { source: from.value, target, ...(several({ target }) && { model }) };
    };
    offer();
    const text = make("textarea", { rows: 2, maxlength: limits.characters, required: true, placeholder: "A sentence",
        onkeydown(event) {
            if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
            event.preventDefault();
            form.requestSubmit();
        } });
    const form = make("form", { class: "ask", onsubmit(event) {
        event.preventDefault();
        restart();
    } },
    make("label", { class: "control" }, make("span", {}, "From"), from),
    make("label", { class: "control" }, make("span", {}, "To"), to),
    make("label", { class: "control text" }, make("span", {}, "Sentence"), text),
    make("button", { class: "go" }, "Show"));
    const status = make("p", { class: "status", role: "status" });
    const panel = make("div", {});
    const result = make("div", { class: "result" });
    let asked; // the sentence that is shown, and its languages
    let changes; // its panel
    let view = "difference"; // the one that is shown
    let current; // views, for printing
    let newest = 0; // number of the last request

    /** Another sentence or model: nothing is changed yet. */
    function restart() {
        const sentence = text.value.trim();
        const { model } = pairs[to.value];
        Object.entries(inLanguage(from.value, sentence)).forEach(([name, value]) =>
            (value ? text.setAttribute(name, value) : text.removeAttribute(name)));
        if (!sentence) return;
        history.replaceState(null, "", `${location.pathname}${start}${new URLSearchParams(
            { ...chosen(), text: sentence })}`);
        asked = { ...chosen(), text: sentence };
        changes = changesPanel(model, run);
        panel.replaceChildren(changes.element);
        run();
    }

    /** Ask for both runs. While one request is under way, later ones wait, and only the last is sent. */
    async function run() {
        const number = ++newest;
        const [request, panelOfRequest] = [asked, changes];
        status.classList.remove("failed");
        status.textContent = current ? "Working…" : "Working… The first run loads the model.";
        await turn;
        if (number !== newest) return;
        const body = { ...request, interventions: panelOfRequest.intervention() };
        turn = answer(body, number, panelOfRequest);
    }
    let turn = Promise.resolve();

    async function answer(body, number, { show }) {
        try {
            const report = await readReport(await ask("v1/how", body));
            if (number !== newest) return;
            status.textContent = report.difference ? "" : "Change the run to see what that does.";
            show(report);
            showViews(report);
        } catch (error) {
            if (number !== newest) return;
            status.textContent = error.message;
            status.classList.add("failed");
        }
    }

    function showViews(report) {
        const focused = document.activeElement?.id;
        current = viewsOf(report, (name) => {
            if (report.difference || name !== "translation") view = name;
        }, views);
        const high = result.clientHeight;
        result.style.minHeight = `${high}px`; // so that the page does not jump
        result.replaceChildren(...current.elements);
        current.show([view, "translation"].find((name) => current.names.includes(name)) ?? current.names[0]);
        result.style.minHeight = "";
        if (focused?.startsWith("tab-")) document.getElementById(focused)?.focus();
    }

    /** Take the sentence and the languages from the address. */
    function open() {
        const wish = wished(start);
        if (wish.text === null) return;
        if ([...from.options].some(({ value }) => value === wish.source)) from.value = wish.source;
        offer();
        const fits = (wanted, own) => !wanted || wanted === own;
        const first = pairs.findIndex(({ target, model }) =>
            fits(wish.source, from.value) && fits(wish.target, target) && fits(wish.model, model.model));
        to.value = String(Math.max(0, first));
        text.value = wish.text; // one that is too long is refused, with the reason
        if (first < 0) refuse(wish);
        else if (text.value) queueMicrotask(restart);
    }

    /** Say that no model of its own has the pair of the address: its translations go through a pivot, or the model is gone. */
    function refuse({ source, target, model }) {
        newest++; // what was asked before is not shown any more
        current = undefined;
        panel.replaceChildren();
        result.replaceChildren();
        const pair = [source && `from ${languageName(source)}`, target && `to ${languageName(target)}`].filter(Boolean).join(" ");
        status.textContent = `No ${model ? `model “${model}”` : "single model"} translates ${pair}. Choose other languages.`;
        status.classList.add("failed");
    }

    watchPrinting(() => current?.buildAll());
    addEventListener("hashchange", open);
    open();
    return [form, panel, status, result];
}

/** The English name of a language, or its code. */
function languageName(code) {
    try {
        return new Intl.DisplayNames("en", { type: "language" }).of(code.replace("_", "-"));
    } catch {
        return code;
    }
}

/** The sentence and the languages that the address asks for. The text is null if it names none. */
function wished(start) {
    const own = location.hash.startsWith(start) ? location.hash.slice(start.length) : "";
    const given = new URLSearchParams(own || location.search);
    return Object.fromEntries(["source", "target", "text", "model"].map((name) => [name, given.get(name)]));
}

openPage();
