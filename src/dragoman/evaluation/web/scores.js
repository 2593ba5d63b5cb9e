// The scores of each system on the whole text, with intervals and tests of significance, as Python computed them.

import { hint } from "../../inspection/views/page/controls.js";
import { make, scrolling } from "./dom.js";

const METRICS = ["bleu", "chrf", "chrf++", "ter", "comet"];

export function scoreTable({ results, systems }) {
    const scores = results.systems ?? { [systems[0].name]: results };
    const first = Object.values(scores)[0];
    const metrics = METRICS.filter((metric) => metric in first);
    const change = (system, metric) =>
        results.differences?.find((one) => one.system === system && one.metric === metric);
    const cell = (system, metric) => {
        const { value, mean, half_width: half } = scores[system][metric];
        const found = change(system, metric);
        const verdict = found?.significant ? (found.better ? "better" : "worse") : null;
        return make("td", {},
            make("span", { class: "score" }, value.toFixed(2)),
            mean !== null && make("small", {}, `${mean.toFixed(2)} ± ${half.toFixed(2)}`),
            found && make("small", { class: verdict }, `${signed(found.difference)}, ${chance(found.p_value)}`,
                verdict && `, ${verdict}`));
    };
    const head = metrics.map((metric) => make("th", { scope: "col" }, first[metric].name,
        !first[metric].higher_is_better && make("small", {}, "lower is better")));
    const rows = Object.keys(scores).map((system) => make("tr", {},
        make("th", { scope: "row", dir: "auto" }, system,
            system === results.baseline && make("small", {}, "baseline")),
        metrics.map((metric) => cell(system, metric))));
    const basis = [first.resamples > 0 && "Under each score: the mean and 95% interval of bootstrap resamples.",
        results.test && `Differences from the baseline: ${results.test}; better or worse if p < 0.05.`];
    return make("div", {},
        scrolling("Scores", make("table", { class: "scores" }, make("caption", { class: "unseen" }, "Scores by system"),
            make("thead", {}, make("tr", {}, make("td", {}), head)), make("tbody", {}, rows))),
        hint(basis.filter(Boolean).join(" ")),
        first.notes.map((note) => make("p", { class: "hint" }, `Note: ${note}`)),
        make("details", {}, make("summary", {}, "Signatures"),
            make("dl", {}, metrics.map((metric) => [make("dt", {}, first[metric].name),
                make("dd", {}, make("code", {}, first[metric].signature))]))));
}

export const signed = (value, digits = 2) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(digits)}`;

const chance = (p) => (p < 0.001 ? "p < 0.001" : `p = ${p.toFixed(4)}`);
