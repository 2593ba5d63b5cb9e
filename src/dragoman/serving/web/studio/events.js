// The events of the runs, newest first.

import { renew, table } from "./controls.js";
import { make, scrolling } from "./dom.js";
import { clock, whole } from "./words.js";

const KINDS = { start: "started", resume: "resumed", stop: "stopped", finish: "done", best: "best so far", average: "final average",
    comparison: "compared", back: "went back", replaced: "file replaced" };
const NOTES = { back: "a resumed run continues from here", replaced: "a resumed run, or a newer copy" };

export function eventsView(store) {
    const place = make("div", {});
    const update = () => {
        const runs = store.runs.filter(({ shown }) => shown);
        const events = runs.flatMap((run) => run.event.map((event, order) => ({ run, order, ...event })));
        events.sort((a, b) => (b.seconds ?? 0) - (a.seconds ?? 0) || b.step - a.step || b.order - a.order);
        const dated = events.some(({ time }) => time != null);
        const rows = events.map(({ run, kind, step, seconds, time, text }) => [
            [make("i", { class: `key hue${run.index % 8}` }), ` ${KINDS[kind] ?? kind}`],
            ...(store.runs.length > 1 ? [run.summary.label] : []),
            whole(step),
            seconds == null ? "" : clock(seconds),
            ...(dated ? [time == null ? "" : new Date(1000 * time).toLocaleString()] : []),
            text || NOTES[kind] || "",
        ]);
        const head = ["event", ...(store.runs.length > 1 ? ["run"] : []), "update", "trained", ...(dated ? ["date"] : []), "figures"];
        renew(place, rows.length ? scrolling("Events", table("Events", head, rows, "events")) : make("p", {}, "Nothing yet."));
    };
    for (const what of ["news", "shown"]) store.addEventListener(what, update);
    return [place];
}
