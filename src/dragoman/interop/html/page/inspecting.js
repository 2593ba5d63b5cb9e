// "Look inside sentence" in a file: the views of how.js, of a run that the engine in the page makes.

import { LIMITS, about, reportOf } from "../../../inspection/views/live/report.js";
import { shapeOf } from "../../../translation/native/web/engine.js";
import { ANSWERS, modelOf, page } from "./local.js";

ANSWERS["GET v1/how"] = async () => {
    await inspecting;
    const pairs = page.offer.models.flatMap(({ name, source, targets }, i) => targets.map(async (target) =>
        ({ ...await about({ shape: shapeOf(page.files[i].config) }, { source, target }), model: name })));
    return { models: await Promise.all(pairs), limits: LIMITS, views: page.views, start: "#how&", home: "#" };
};

ANSWERS["v1/how"] = async ({ text, interventions, options, ...asked }) => {
    const { translator, name, to } = await modelOf(asked);
    return reportOf(translator, { text, interventions, options }, { title: name, to, version: page.version });
};

/** Resolves when the page is first asked to look into a sentence. */
const inspecting = new Promise((resolve) => {
    const look = () => location.hash.startsWith("#how&") && resolve();
    addEventListener("hashchange", look);
    look();
});
