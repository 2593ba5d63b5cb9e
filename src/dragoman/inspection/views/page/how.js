// The page of the server: a sentence, what to change in its run, and the views of both runs.
//
// The address may give source, target and text, in the query or after #. The page then moves them behind #, which
// no server sees.

import { headers } from "../web/api.js";
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
        const offer = await asked(await fetch("v1/how", { headers: headers() }));
        app.replaceChildren(title, ...workbench(offer));
    } catch (error) {
        app.replaceChildren(title, paragraph(error.message));
    }
}

/** The answer of the server as data. Throws an error with its message. */
async function asked(response) {
    const answer = await response.json().catch(() => ({}));
    if (response.status === 401) throw new Error("The server asks for a key: enter it on the page for translating.");
    if (!response.ok) throw new Error(answer.detail ?? `The server answers ${response.status}.`);
    return answer;
}

function workbench({ models, limits }) {
    const wish = wished();
    const pairs = make("select", { onchange: restart }, models.map((model, i) =>
        make("option", { value: i }, `${languageName(model.source)} → ${languageName(model.target)}`)));
    const first = models.findIndex(({ source, target }) => source === wish.source && target === wish.target);
    pairs.value = String(Math.max(0, first));
    const text = make("textarea", { rows: 2, maxlength: limits.characters, required: true, placeholder: "A sentence",
        onkeydown(event) {
            if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
            event.preventDefault();
            form.requestSubmit();
        } });
    text.value = wish.text.slice(0, limits.characters);
    const form = make("form", { class: "ask", onsubmit(event) {
        event.preventDefault();
        restart();
    } },
    make("label", { class: "control" }, make("span", {}, "Languages"), pairs),
    make("label", { class: "control text" }, make("span", {}, "Sentence"), text),
    make("button", { class: "go" }, "Show"));
    const status = make("p", { class: "status", role: "status" });
    const panel = make("div", {});
    const result = make("div", { class: "result" });
    let changes; // the panel of the sentence
    let view = "difference"; // the one that is shown
    let current; // views, for printing
    let newest = 0; // number of the last request

    /** Another sentence or model: nothing is changed yet. */
    function restart() {
        const sentence = text.value.trim();
        const model = models[pairs.value];
        Object.entries(inLanguage(model.source, sentence)).forEach(([name, value]) =>
            (value ? text.setAttribute(name, value) : text.removeAttribute(name)));
        if (!sentence) return;
        history.replaceState(null, "", `${location.pathname}#${new URLSearchParams(
            { source: model.source, target: model.target, text: sentence })}`);
        changes = changesPanel(model, run);
        panel.replaceChildren(changes.element);
        run();
    }

    /** Ask for both runs. While one request is under way, later ones wait, and only the last is sent. */
    async function run() {
        const number = ++newest;
        const [{ source, target }, panelOfRequest] = [models[pairs.value], changes];
        status.classList.remove("failed");
        status.textContent = current ? "Working…" : "Working… The first run loads the model.";
        await turn;
        if (number !== newest) return;
        const body = { source, target, text: text.value.trim(), interventions: changes.intervention() };
        turn = answer(body, number, panelOfRequest);
    }
    let turn = Promise.resolve();

    async function answer(body, number, { show }) {
        try {
            const response = await fetch("v1/how", {
                method: "POST", headers: { ...headers(), "Content-Type": "application/json" }, body: JSON.stringify(body),
            });
            const report = await readReport(await asked(response));
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
        });
        const high = result.clientHeight;
        result.style.minHeight = `${high}px`; // so that the page does not jump
        result.replaceChildren(...current.elements);
        const known = current.names.includes(view) ? view : "translation";
        current.show(known);
        result.style.minHeight = "";
        if (focused?.startsWith("tab-")) document.getElementById(focused)?.focus();
    }

    watchPrinting(() => current?.buildAll());
    if (text.value) queueMicrotask(restart);
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

/** The sentence and the languages that the address asks for. */
function wished() {
    const given = new URLSearchParams(location.hash.slice(1) || location.search);
    return { source: given.get("source"), target: given.get("target"), text: given.get("text") ?? "" };
}

openPage();
