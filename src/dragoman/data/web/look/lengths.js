// Histograms of lengths. A slider shows lines of a length.

import { slider } from "../../../inspection/views/page/controls.js";
import { chart, drawable, numbers, shown } from "./chart.js";
import { make } from "./dom.js";
import { examples, percent, whole } from "./text.js";

export const lengths = (look) => make("div", { class: "measures" }, Object.entries(look.lengths).map(([name, all]) => {
    const histogram = drawable(all);
    const edges = numbers(histogram.edges);
    const bars = chart(histogram, `${name}: from ${shown(edges[0])} to ${shown(edges.at(-1))}`);
    const list = make("div", { class: "around" });
    const show = (edge) => {
        const place = edges.indexOf(edge);
        const upTo = histogram.counts.slice(0, place + 1).reduce((sum, count) => sum + count, 0);
        bars.mark((one) => one === edge);
        list.replaceChildren(
            make("p", { class: "hint" }, `${whole(histogram.counts[place])} here; ${percent(upTo, look.pairs)} have at most ${shown(edge)}.`),
            examples(look, histogram.examples[place]));
    };
    const most = edges[histogram.counts.indexOf(Math.max(...histogram.counts))];
    const control = slider({ label: name, values: edges, value: most, show: shown, change: show });
    show(most);
    return make("section", { class: "measure" }, make("h3", {}, name), bars.element, control.element, list);
}));
