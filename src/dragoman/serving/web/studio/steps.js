// The steps of pipelines: what runs, what waits for what, and the end of the logs.

import { renew } from "./controls.js";
import { make, scrolling } from "./dom.js";
import { clock } from "./words.js";

const EVERY = 2000; // milliseconds

export function stepsView() {
    const place = make("div", {});
    const show = (some) => {
        for (const part of [place.closest("section"), document.querySelector('nav a[href="#steps"]')]) part.hidden = !some;
    };
    const look = async () => {
        try {
            const pipelines = await (await fetch("api/steps")).json();
            const fresh = make("div", {}, pipelines.flatMap(table));
            const [old, now] = [place, fresh].map((one) => [...one.querySelectorAll(".time")]);
            // While only time passes, a reader may be in a log.
            if (old.length === now.length) now.forEach((cell, i) => old[i].replaceChildren(cell.textContent));
            renew(place, ...fresh.childNodes);
            show(pipelines.length > 0);
        } catch {
            // the page says that the server does not answer
        }
        setTimeout(look, EVERY);
    };
    queueMicrotask(() => {
        show(false);
        look();
    });
    return [place];
}

function table({ folder, now, steps }) {
    const row = ({ name, state, seconds, began, most_memory_mb: memory, needs, log }) => {
        const passed = (seconds ?? 0) + (state === "running" && began ? Math.max(now - began, 0) : 0);
        const cells = [clock(passed), memory ? `${memory.toLocaleString("en")} MB` : "", needs?.join(", ")];
        const about = make("tr", {}, make("th", { scope: "row" }, name), make("td", {}, make("span", { class: `state ${state}` }, state)),
            cells.map((text, i) => make("td", i ? {} : { class: "time" }, text)));
        return [about, log.length > 0 && make("tr", {}, make("td", { colspan: 5 }, make("pre", { tabindex: 0 }, log.join("\n"))))];
    };
    const head = ["step", "state", "time", "memory", "needs"].map((text) => make("th", { scope: "col" }, text));
    return [make("p", {}, folder), scrolling(`Steps of ${folder}`, make("table", { class: "steps" },
        make("thead", {}, make("tr", {}, head)), make("tbody", {}, steps.flatMap(row).filter(Boolean))))];
}
