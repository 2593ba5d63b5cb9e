// "Look inside sentence" in a file: the views of how.js, of a run that the engine in the page makes.

import { LIMITS, about, reportOf } from "../../../inspection/views/live/report.js";
import { shapeOf } from "../../../translation/native/web/engine.js";
import { ANSWERS, modelOf, page } from "./local.js";

ANSWERS["GET v1/how"] = async () => {
    await inspecting;
    const models = page.offer.models.flatMap(({ name, pairs }, i) => pairs.map(async (own) =>
        ({ ...await about({ shape: shapeOf(page.files[i].config) }, own), model: name })));
    return { models: await Promise.all(models), limits: LIMITS, views: page.views, start: "#how&", home: "#" };
};

ANSWERS["v1/how"] = async ({ text, interventions, options, ...asked }) => {
    const { translator, name, tags, banned, source, target } = await modelOf(asked);
    return reportOf(translator, { text, interventions, options }, { title: name, tags, banned, languages: [source, target], version: page.version });
};

/** Resolves when the page is first asked to look into a sentence. */
const inspecting = new Promise((resolve) => {
    const look = () => location.hash.startsWith("#how&") && resolve();
    addEventListener("hashchange", look);
    look();
});
