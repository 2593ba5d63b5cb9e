// The views behind tabs. A view is built when it is first shown. Printing builds all.

import { attentionView } from "./attention.js";
import { beamView } from "./beam.js";
import { repaintAll } from "./colour.js";
import { complexityView } from "./complexity.js";
import { differenceView } from "./difference.js";
import { tabs } from "./controls.js";
import { furnish, make } from "./dom.js";
import { positionsView } from "./positions.js";
import { termsView } from "./terms.js";
import { translationView } from "./translation.js";

const VIEWS = [
    { name: "difference", title: "Difference", build: differenceView, needsDifference: true },
    { name: "translation", title: "Translation", build: translationView, needsTrace: true },
    { name: "attention", title: "Attention", build: attentionView, needsTrace: true },
    { name: "beam", title: "Beam", build: beamView, needsTrace: true },
    { name: "positions", title: "Positions", build: positionsView },
    { name: "terms", title: "Logit parts", build: termsView, needsTrace: true },
    { name: "complexity", title: "Complexity", build: complexityView },
];

/**
 * The views of a report: {names, elements, show, buildAll}. `shown(name)` is called with the one that is shown.
 * `chosen` names those that are offered.
 */
export function viewsOf(report, shown, chosen = VIEWS.map(({ name }) => name)) {
    const has = ({ name, needsTrace, needsDifference }) =>
        chosen.includes(name) && (!needsTrace || report.traces.length) && (!needsDifference || report.difference);
    const views = VIEWS.filter(has).map((view) => ({
        ...view,
        panel: make("section", { id: `view-${view.name}`, role: "tabpanel", "aria-labelledby": `tab-${view.name}` }),
    }));
    const build = ({ panel, title, build: content }) => {
        if (!panel.childNodes.length) furnish(panel, {}, [make("h2", {}, title), content(report)]);
    };
    const bar = tabs(views, (name) => {
        build(views.find((view) => view.name === name));
        shown(name);
    });
    return {
        names: views.map(({ name }) => name),
        elements: [bar.element, ...views.map(({ panel }) => panel)],
        show: bar.show,
        buildAll: () => views.forEach(build),
    };
}

/** Show all views, on white, while the page is printed. */
export function watchPrinting(buildAll) {
    const turn = (on) => {
        if (document.documentElement.classList.contains("printing") === on) return;
        document.documentElement.classList.toggle("printing", on);
        if (on) buildAll();
        repaintAll();
    };
    addEventListener("beforeprint", () => turn(true));
    addEventListener("afterprint", () => turn(false));
    matchMedia("print").addEventListener("change", ({ matches }) => turn(matches));
}
