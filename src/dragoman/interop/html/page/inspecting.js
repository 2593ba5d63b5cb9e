// "Look inside sentence" in a file: the views of how.js, of a trace that the engine in the page makes.

import { about, reportOf } from "../../../inspection/views/live/report.js";
import { shapeOf } from "../../../translation/native/web/engine.js";
import { ANSWERS, modelOf, page } from "./local.js";

ANSWERS["GET v1/how"] = async () => {
    await inspecting;
    const { views, limits, offer, files } = page;
    const models = offer.models.flatMap(({ name, source, targets }, i) => targets.map((target) =>
        about({ shape: shapeOf(files[i].config) }, { name, source, target, limits })));
    return { models, limits, views, start: "#how&", home: "#" };
};

ANSWERS["v1/how"] = async ({ text, interventions, options, ...asked }) => {
    const { translator, name, to } = await modelOf(asked);
    const line = text.split(/\s+/u).join(" ");
    return reportOf(translator, { text: to ? `>>${to}<< ${line}` : line, interventions, options }, { title: name });
};

/** Resolves when the page is first asked to look into a sentence. */
const inspecting = new Promise((resolve) => {
    const look = () => location.hash.startsWith("#how&") && resolve();
    addEventListener("hashchange", look);
    look();
});
