// The page: the actions of a person, and their effects.

import { Failure, ask } from "./api.js";
import { inLanguage, percent } from "./controls.js";
import { by, make } from "./dom.js";
import { Draft, wordAt } from "./draft.js";
import { Files } from "./files.js";
import { Languages } from "./languages.js";
import { fromLink, linkTo } from "./link.js";
import { Menu } from "./menu.js";
import { Pane, certainty } from "./pane.js";
import { SentencePanel } from "./sentence.js";
import { startTheme } from "./theme.js";
import { Translating } from "./translating.js";
import { startKey, unlock } from "./unlock.js";

const draft = new Draft();
const panes = { source: new Pane(by("source"), "source"), target: new Pane(by("target"), "target") };
const menu = new Menu(() => panes.target.field.focus());
const languages = new Languages(chosen);
const translating = new Translating(translate, say);
const panel = new SentencePanel({ choose, request: (one) => requestOf(one), remembers });
let server = null; // the answer of /v1/page
let current = { sentence: -1, side: "source", word: -1 }; // where the caret is
let pointed = null; // the word under the pointer
let asked = 0; // for the words of the menu

// ---- asking -----------------------------------------------------------------------------------------------------

const request = () => ({ source: languages.source, target: languages.target, ...languages.options });

function requestOf(sentence) {
    return { ...request(), source: languages.spoken, text: sentence.original, context: sentence.context };
}

function remembers() {
    return Boolean(server?.memories.some(([source, target]) => source === languages.spoken && target === languages.target));
}

async function translate(signal) {
    if (server === null) await start(signal);
    const text = panes.source.text;
    const { length } = [...text]; // as the server counts
    if (length > server.limits.characters) {
        by("target").removeAttribute("aria-busy"); // of a request that this one ended
        throw new Failure("long", `Too long: ${length.toLocaleString("en")} of ${server.limits.characters.toLocaleString("en")} characters.`);
    }
    by("target").setAttribute("aria-busy", "true");
    try {
        const empty = { text: "", sentences: [], source: null };
        const answer = text.trim() ? await ask("v1/words", { ...request(), text, choices: draft.prefixes() }, { signal }) : empty;
        languages.detected(languages.source === null ? answer.source : null, answer.confidence);
        draft.received(text, answer);
        show();
    } finally {
        if (!signal.aborted) by("target").removeAttribute("aria-busy");
    }
}

async function start(signal) {
    const answer = await ask("v1/page", undefined, { signal });
    server = answer;
    const link = fromLink();
    languages.offer(server, link && [link.source ?? "", link.target]);
    if (server.limits.file_bytes) return;
    by("files-choose").hidden = true;
    panes.source.field.placeholder = "Type or paste text";
}

function say(failure, seconds) {
    const status = by("status");
    status.hidden = failure === null;
    if (failure === null) return;
    status.dataset.kind = failure.kind;
    status.textContent = failure.message + (seconds ? ` Trying again in ${seconds} s.` : "");
    if (failure.kind === "key") unlock(failure.message, () => translating.now());
}

// ---- showing ----------------------------------------------------------------------------------------------------

function show() {
    inLanguage(languages.spoken, panes.source.field, panes.source.under);
    inLanguage(languages.target, panes.target.field, panes.target.under, by("menu"));
    panes.source.show(panes.source.text, draft.sentences);
    panes.target.show(draft.target, draft.sentences);
    panes.target.field.readOnly = !draft.sentences.length;
    const { length } = [...panes.source.text];
    by("count").textContent = length && server ? `${length.toLocaleString("en")} / ${server.limits.characters.toLocaleString("en")}` : "";
    by("clear").hidden = !length;
    for (const id of ["copy", "link"]) by(id).hidden = !draft.target;
    by("swap").disabled = !server || !languages.swaps;
    locate(current.side);
}

/** Find the sentence and the word at the caret of a pane. */
function locate(side) {
    const place = panes[side].field.selectionStart;
    const sentence = draft.at(side, place);
    const word = sentence >= 0 ? wordAt(draft.sentences[sentence], side, place) : -1;
    const other = side !== current.side || sentence !== current.sentence || word !== current.word;
    current = { side, sentence, word };
    showCurrent();
    if (other && side === "target" && document.activeElement === panes.target.field) speak();
}

/** Mark where the caret or the pointer is, in both panes. */
function showCurrent() {
    const sentence = draft.sentences[current.sentence] ?? (draft.sentences.length === 1 ? draft.sentences[0] : null);
    const marks = { source: [], target: [] };
    if (draft.sentences.length > 1 && current.sentence >= 0) {
        for (const side of ["source", "target"]) marks[side].push(["current", current.sentence, null]);
    }
    const there = (one) => one && draft.sentences[one.sentence]?.[one.side === "source" ? "sourceWords" : "words"][one.word];
    const at = [pointed, focused() && current].find(there) ?? null; // the sentences may have changed under the pointer
    if (at) {
        const linked = draft.sentences[at.sentence].links.filter((link) => link[at.side === "source" ? 0 : 1] === at.word);
        const [here, there] = at.side === "source" ? ["source", "target"] : ["target", "source"];
        marks[here].push(["here", at.sentence, at.word]);
        for (const link of linked) marks[there].push(["linked", at.sentence, link[there === "source" ? 0 : 1]]);
    }
    for (const side of ["source", "target"]) panes[side].mark(marks[side]);
    const lacking = draft.sentences.filter((one) => one.lacking).length;
    const note = lacking ? [`Lacks most of the source: ${lacking} of ${draft.sentences.length} sentences.`] : [];
    by("word").replaceChildren(...(at?.side === "target" ? described(at) : note));
    panel.show(sentence);
    by("how").hidden = !(server?.how && sentence);
    const which = draft.sentences.length > 1 ? ` ${draft.sentences.indexOf(sentence) + 1}` : "";
    by("how").textContent = `Look inside sentence${which}`;
    if (!sentence || !server?.how) return;
    const { source, target, model, text } = requestOf(sentence); // the page inside reads nothing else
    by("how").href = `${server.how === true ? "how#" : server.how}${new URLSearchParams({ source, target, ...(model && { model }), text })}`;
    if (server.how !== true) by("how").removeAttribute("target"); // it is in this page
}

const focused = () => [panes.source.field, panes.target.field].includes(document.activeElement);

function described({ sentence, word }) {
    const [one, found] = [draft.sentences[sentence], draft.sentences[sentence].words[word]];
    const name = one.text.slice(found.start, found.end);
    const said = { chosen: "yours", unsure: "unsure", "very-unsure": "very unsure", sure: "" }[certainty(found)];
    const sure = found.confidence === null || found.chosen ? "" : percent(found.confidence);
    const about = [sure, said].filter(Boolean).join(", ");
    return [make("bdi", {}, name), about && `: ${about}`]; // isolated: the word may be written from right to left
}

/** Tell a screen reader of words that are not sure. */
function speak() {
    const word = draft.sentences[current.sentence]?.words[current.word];
    by("spoken").replaceChildren(...(word && certainty(word) !== "sure" ? described(current) : []));
}

// ---- choosing ---------------------------------------------------------------------------------------------------

function choose(sentence, choice) {
    draft.choose(sentence, choice);
    translating.now();
}

function chosen(what) {
    if (what === "languages") draft.choices.clear();
    translating.now();
}

/** Offer other words in the place of one of the translation. */
async function offerWords({ sentence, word }) {
    const one = draft.sentences[sentence];
    const found = one?.words[word];
    if (!found) return;
    const own = ++asked;
    const [current, prefix] = [one.text.slice(found.start, found.end), one.text.slice(0, found.start)];
    menu.openAt(panes.target.shown[sentence].words[word], `Instead of ${current}`);
    try {
        const { words } = await ask("v1/next_words", { ...requestOf(one), prefix });
        if (own !== asked) return; // the menu is another word's by now
        menu.offer(words, current, ({ prefix: begun }) => {
            draft.begin(one, begun, { from: found.start });
            translating.now();
            const caret = one.target[0] + begun.length;
            panes.target.field.setSelectionRange(caret, caret);
        });
    } catch (error) {
        if (!(error instanceof Failure)) throw error;
        if (own === asked) menu.explain(error.message);
    }
}

// ---- actions of the person -----------------------------------------------------------------------------------------

panes.source.field.addEventListener("input", () => {
    draft.typedSource(panes.source.text, panes.source.field.selectionStart);
    show();
    translating.soon();
});

panes.target.field.addEventListener("input", (event) => {
    menu.close();
    const goesOn = draft.typedTarget(panes.target.text, panes.target.field.selectionStart);
    show();
    if (goesOn && !event.isComposing) translating.soon();
});
panes.target.field.addEventListener("compositionend", () => translating.soon());

panes.target.field.addEventListener("click", (event) => {
    const { selectionStart: start, selectionEnd: end } = panes.target.field;
    const found = start === end ? panes.target.over(event.clientX, event.clientY) : null;
    if (found) offerWords(found);
    else menu.close();
});

panes.target.field.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" && menu.open) menu.enter();
    else if (event.key === "ArrowDown" && event.altKey) {
        locate("target"); // the caret may have moved since the last selectionchange
        offerWords(current);
        if (menu.open) menu.enter();
    } else if (event.key === "Escape" && menu.open) menu.close();
    else return;
    event.preventDefault();
});
panes.target.field.addEventListener("blur", ({ relatedTarget }) => relatedTarget !== menu.element && menu.close());

document.addEventListener("selectionchange", () => {
    const side = document.activeElement === panes.target.field ? "target" : "source";
    if (focused()) locate(side);
});

for (const pane of Object.values(panes)) {
    pane.field.addEventListener("pointermove", ({ clientX, clientY }) => {
        const found = pane.over(clientX, clientY);
        if (found?.sentence === pointed?.sentence && found?.word === pointed?.word && Boolean(found) === Boolean(pointed)) return;
        pointed = found && { ...found, side: pane.side };
        showCurrent();
    });
    pane.field.addEventListener("pointerleave", () => {
        pointed = null;
        showCurrent();
    });
    pane.field.addEventListener("blur", () => requestAnimationFrame(showCurrent));
}

by("clear").addEventListener("click", () => setText(""));
by("swap").addEventListener("click", () => {
    const [source, target, text] = [languages.spoken, languages.target, draft.target];
    if (!languages.choose(target, source)) return;
    draft.choices.clear();
    setText(text);
});
by("copy").addEventListener("click", () => flash("copy", copy(draft.target)));
by("link").addEventListener("click", () => {
    const link = linkTo({ ...request(), text: panes.source.text });
    history.replaceState(null, "", link);
    flash("link", copy(link));
});
addEventListener("hashchange", ({ oldURL }) => oldURL.includes("#how&") || openLink());

/** Put a text on the clipboard, also where the page came over plain HTTP. */
async function copy(text) {
    if (navigator.clipboard) return navigator.clipboard.writeText(text);
    const [before, field] = [document.activeElement, make("textarea", { class: "unseen" }, text)];
    document.body.append(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    before.focus();
    if (!done) throw new Error("not copied");
}

/** Say on a button that something is on the clipboard. */
async function flash(id, written) {
    const name = { copy: "Copy", link: "Link" }[id];
    by(id).textContent = await written.then(() => "Copied", () => "Not copied");
    setTimeout(() => (by(id).textContent = name), 1500);
}

function setText(text) {
    panes.source.field.value = text;
    draft.typedSource(text, text.length);
    panes.source.field.focus();
    show();
    translating.now();
}

function openLink() {
    const link = fromLink();
    if (link === null) return;
    if (server) languages.choose(link.source, link.target);
    draft.choices.clear();
    setText(link.text);
}

// ---- start ------------------------------------------------------------------------------------------------------

new Files({
    pair: request,
    limit: () => server?.limits.file_bytes ?? Infinity,
    unlock,
});
startTheme();
startKey(() => translating.now());
if (fromLink()) openLink();
else translating.now();
by("unstarted").remove();
