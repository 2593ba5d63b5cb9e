// The page: its parts, each a view of one store.

import { attentionView } from "./attention.js";
import { curvesView } from "./curves.js";
import { make } from "./dom.js";
import { eventsView } from "./events.js";
import { recipeView } from "./recipe.js";
import { runsView } from "./runs.js";
import { samplesView } from "./samples.js";
import { stepsView } from "./steps.js";
import { Store } from "./store.js";

const PARTS = [
    ["runs", "Runs", runsView],
    ["steps", "Steps", stepsView],
    ["curves", "Curves", curvesView],
    ["translations", "Translations", samplesView],
    ["attention", "Attention", attentionView],
    ["recipes", "Recipes", recipeView],
    ["events", "Events", eventsView],
];

const dark = matchMedia("(prefers-color-scheme: dark)");

function schemeButton() {
    const root = document.documentElement;
    const scheme = () => root.dataset.theme ?? (dark.matches ? "dark" : "light");
    const name = () => (button.textContent = scheme() === "dark" ? "Light" : "Dark");
    const button = make("button", { type: "button", class: "raised", onclick() {
        root.dataset.theme = scheme() === "dark" ? "light" : "dark";
        name();
    } });
    name();
    dark.addEventListener("change", name);
    return button;
}

function connection(store) {
    const place = make("p", { class: "connection", role: "status" }, "Connecting …");
    store.addEventListener("connection", () => {
        place.textContent = store.connected ? "" : "The server does not answer. The page continues when it does.";
    });
    return place;
}

function title(store) {
    store.addEventListener("news", () => {
        const names = store.runs.map(({ summary }) => summary.label).join(", ");
        const going = store.runs.find(({ summary }) => summary.state === "running")?.summary;
        const part = going?.max_updates && going.last.step ? `${Math.floor((100 * going.last.step) / going.max_updates)}% ` : "";
        document.title = `${part}${names}`;
    });
}

const store = new Store();
document.getElementById("app").replaceChildren(
    make("header", {}, make("h1", {}, "Training"),
        make("nav", { "aria-label": "Parts" }, PARTS.slice(1).map(([id, text]) => make("a", { href: `#${id}` }, text))),
        schemeButton()),
    connection(store),
    ...PARTS.map(([id, text, view]) => make("section", { id, "aria-labelledby": `${id}-title` },
        make("h2", { id: `${id}-title`, class: id === "runs" && "unseen" }, text), view(store))));
title(store);
store.connect();
