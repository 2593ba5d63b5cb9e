// The options of the runs, and where they differ.

import { renew, table } from "./controls.js";
import { make, scrolling } from "./dom.js";

export function recipeView(store) {
    const box = make("input", { type: "checkbox", checked: true, onchange: () => update() });
    const only = make("label", { class: "tick" }, box, "only differences");
    const place = make("div", {});
    const update = () => {
        const runs = store.runs.filter(({ shown, recipe }) => shown && Object.keys(recipe).length);
        const without = store.runs.filter(({ recipe }) => !Object.keys(recipe).length).map(({ summary }) => summary.label);
        only.hidden = runs.length < 2;
        const missing = without.length > 0 && make("p", {}, `No training.toml next to the measurements of ${without.join(", ")}.`);
        renew(place, runs.length > 0 && content(runs, runs.length > 1 && box.checked), missing);
    };
    for (const what of ["news", "shown"]) store.addEventListener(what, update);
    return [make("div", { class: "controls" }, only), place];
}

function content(runs, only) {
    const names = [...new Set(runs.flatMap(({ recipe }) => Object.keys(recipe)))];
    const rows = names
        .map((name) => [name, runs.map(({ recipe }) => recipe[name])])
        .filter(([, values]) => !only || values.some((value) => value !== values[0]))
        .map(([name, values]) => [name, ...values.map((value) => (value === undefined ? "(missing)" : make("code", {}, value)))]);
    if (!rows.length) return make("p", {}, "The recipes are equal.");
    return scrolling("The recipes", table("The recipes", ["option", ...runs.map(({ summary }) => summary.label)], rows, "recipe"));
}
