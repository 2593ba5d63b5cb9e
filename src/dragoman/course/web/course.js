// The course: its chapters, the sentence that the reader types, and the widgets, which compute from it.
//
// A widget is a function ({model, say, recorded, options, sentence}) -> {element, update}. `update(run)` is called
// with each new run of the reader's sentence, when the widget is in view; it may be missing.

import { repaintAll, schemeButton } from "../../inspection/views/page/colour.js";
import { asNumber } from "../../inspection/views/page/controls.js";
import { unpacked } from "../../translation/native/web/packed.js";
import { attention } from "./attention.js";
import { by, make } from "./dom.js";
import { machine } from "./machine.js";
import { CourseModel } from "./model.js";
import { order } from "./order.js";
import { since } from "./since.js";
import { words } from "./words.js";

const WIDGETS = { ...words, ...order, ...attention, ...machine, ...since };
const LONGEST = 60; // tokens of a sentence: some widgets take a time that grows with their cube
const FIRST = "The old farmer gets up early every day.";

const texts = JSON.parse(by("labels").textContent);
const articles = [...document.querySelectorAll("#course > article")];

/** A label of the page; {name} in it is replaced by values.name. */
const say = (key, values = {}) => {
    if (!(key in texts)) throw new Error(`no label ${key}`);
    const written = (value) => (typeof value === "number" ? asNumber(value) : value);
    return texts[key].replace(/\{(\w+)\}/g, (_, name) => written(values[name]));
};

async function open() {
    frame();
    show();
    addEventListener("hashchange", show);
    const status = by("loading");
    try {
        const names = JSON.parse(by("files").textContent);
        const files = {};
        for (const [name, id] of Object.entries(names)) files[name] = await unpacked(id);
        const wasm = await unpacked("engine");
        const model = await CourseModel.open(
            files,
            wasm,
            ({ share }) => (status.textContent = say("loading", { percent: Math.round(100 * share) })),
        );
        status.hidden = true;
        start(model);
    } catch (error) {
        status.textContent = say("failed", { reason: error.message });
        throw error;
    }
}

/** What is around the chapters. */
function frame() {
    const name = ({ dataset: { title } }, i) => (i ? `${i}. ${title.split(",")[0]}` : say("start"));
    const links = articles.map((article, i) => make("a", { href: `#${article.id}` }, name(article, i)));
    const field = make("input", {
        id: "sentence",
        type: "text",
        maxlength: 200,
        autocomplete: "off",
        spellcheck: "false",
        value: FIRST,
    });
    document.body.prepend(
        make("header", { class: "course" }, make("nav", { "aria-label": say("chapters") }, links),
            schemeButton({ light: say("light"), dark: say("dark") })),
        make(
            "form",
            { class: "ask", id: "ask" },
            make("label", {}, say("sentence"), " ", field),
            make("output", { id: "translation", lang: "de" }),
        ),
        make("p", { id: "loading", role: "status" }, say("loading", { percent: 0 })),
    );
    for (const box of document.querySelectorAll(".predict")) prediction(box);
    for (const article of articles) ending(article);
}

/** A question: what follows it is shown when the reader has answered. */
function prediction(box) {
    const after = box.nextElementSibling;
    if (after) after.hidden = true;
    const reveal = (button) => {
        for (const one of box.querySelectorAll("[data-right]")) {
            one.setAttribute("aria-pressed", String(one === button));
            one.classList.toggle("right", one.dataset.right === "true");
        }
        box.querySelector(".verdict").textContent = button
            ? say(button.dataset.right === "true" ? "right" : "wrong")
            : "";
        box.querySelector(".explained").hidden = false;
        if (after) after.hidden = false;
        repaintAll();
    };
    box.addEventListener("click", ({ target }) => {
        const button = target.closest("button");
        if (button) reveal(button.dataset.right ? button : null);
    });
    box.querySelector(".answers").append(make("button", { type: "button", class: "skip" }, say("skip")));
}

/** The link to the next chapter. */
function ending(article) {
    const next = articles[articles.indexOf(article) + 1];
    if (next)
        article.append(
            make("p", { class: "next" }, make("a", { href: `#${next.id}` }, `${say("next")}: ${next.dataset.title}`)),
        );
}

/** Show the chapter in the address. */
function show() {
    const name = location.hash.slice(1);
    const shown = articles.find(({ id }) => id === name) ?? articles[0];
    for (const article of articles) article.hidden = article !== shown;
    for (const link of document.querySelectorAll("header.course nav a")) {
        const here = link.hash === `#${shown.id}`;
        link.setAttribute("aria-current", here ? "page" : "false");
        if (here) link.scrollIntoView({ block: "nearest", inline: "center" });
    }
    by("ask").hidden = shown === articles[0];
    document.title = `${shown.dataset.title} · dragoman`;
    scrollTo(0, 0);
    repaintAll();
}

function start(model) {
    const recorded = JSON.parse(by("recorded").textContent);
    const field = by("sentence");
    const widgets = new Map(); // {update, run} of each box that has been in view; `run` is the one that it shows
    const inView = new Set();
    let run = null;
    let working = 0;
    let newest = 0;

    const sentence = {
        get text() {
            return field.value.trim();
        },
        set(text) {
            field.value = text;
            field.dispatchEvent(new Event("input"));
        },
    };

    /** Do some work on the page. The page says when it is done, for tests. */
    async function track(work) {
        working++;
        delete document.body.dataset.ready;
        try {
            await work();
        } finally {
            working--;
        }
        if (working || !run) return;
        snippets(run.source.text);
        document.body.dataset.ready = run.source.text;
    }

    /** Let a widget show the current run. It is built when it first comes into view and there is a run. */
    function refresh(box) {
        if (!run) return;
        if (!widgets.has(box)) {
            const { widget, options } = box.dataset;
            if (!(widget in WIDGETS)) throw new Error(`no widget ${widget}`);
            const made = WIDGETS[widget]({ model, say, recorded, options: JSON.parse(options), sentence });
            box.replaceChildren(made.element);
            widgets.set(box, { update: made.update ?? (() => {}), run: null });
        }
        const own = widgets.get(box);
        if (own.run === run) return;
        own.run = run;
        return own.update(run);
    }

    async function renew() {
        const number = ++newest;
        if (!sentence.text) return by("translation").replaceChildren();
        const ids = await model.translator.encode(sentence.text);
        if (ids.length > LONGEST) {
            by("translation").replaceChildren(make("span", { lang: document.documentElement.lang }, say("long", { most: LONGEST })));
            return;
        }
        const next = await model.run(sentence.text);
        if (number !== newest) return; // the reader types on
        run = next;
        by("translation").textContent = run.target.text;
        await Promise.all([...inView].map(refresh));
    }

    const seen = (entries) => {
        for (const { target, isIntersecting } of entries) {
            inView[isIntersecting ? "add" : "delete"](target);
            if (isIntersecting) track(() => refresh(target));
        }
    };
    const watch = new IntersectionObserver(seen, { rootMargin: "50% 0px" });
    document.querySelectorAll(".widget").forEach((box) => watch.observe(box));
    field.addEventListener("input", () => track(renew));
    by("ask").addEventListener("submit", (event) => event.preventDefault());
    track(renew);
}

/** The snippets with the reader's sentence, and the numbers that they print. */
function snippets(text) {
    for (const code of document.querySelectorAll(".snippet code")) {
        code.original ??= code.textContent;
        code.textContent = code.original.replaceAll(FIRST, () => text.replace(/[\\"]/g, "\\$&"));
    }
    for (const output of document.querySelectorAll("[data-prints]"))
        output.textContent = document.querySelector(`[data-live="${output.dataset.prints}"]`)?.textContent ?? "…";
}

open();
