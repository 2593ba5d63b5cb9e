// The page: its header and its views behind tabs. A view is built when it is first shown. Printing builds all.

const VIEWS = [
    { name: "translation", title: "Translation", build: translationView, needsTrace: true },
    { name: "attention", title: "Attention", build: attentionView, needsTrace: true },
    { name: "beam", title: "Beam", build: beamView, needsTrace: true },
    { name: "positions", title: "Positions", build: positionsView },
    { name: "terms", title: "Terms", build: termsView, needsTrace: true },
    { name: "complexity", title: "Complexity", build: complexityView },
];

async function open() {
    const app = document.getElementById("app");
    try {
        const report = await readReport(document.getElementById("data").textContent);
        lay(app, report);
    } catch (error) {
        app.replaceChildren(paragraph(`This report could not be shown: ${error.message}`));
        throw error;
    }
}

function lay(app, report) {
    const views = VIEWS.filter(({ needsTrace }) => !needsTrace || report.traces.length).map((view) => ({
        ...view,
        panel: make("section", { id: `view-${view.name}`, role: "tabpanel", "aria-labelledby": `tab-${view.name}` }),
    }));
    const build = ({ panel, title, build: content }) => {
        if (!panel.childNodes.length) furnish(panel, {}, [make("h2", {}, title), content(report)]);
    };
    const bar = tabs(views, (name) => {
        build(views.find((view) => view.name === name));
        if (location.hash !== `#${name}`) location.hash = name;
    });
    const named = () => views.find(({ name }) => `#${name}` === location.hash);
    app.replaceChildren(head(report), bar.element, ...views.map(({ panel }) => panel));
    bar.show((named() ?? views[0]).name);

    addEventListener("hashchange", () => named()?.panel.hidden && bar.show(named().name));
    addEventListener("keydown", (event) => {
        if (event.ctrlKey || event.altKey || event.metaKey) return;
        const view = views[Number(event.key) - 1];
        if (view) document.getElementById(`tab-${view.name}`).focus();
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaintAll);
    watchPrinting(() => views.forEach(build));
}

/** Show all views, on white, while the page is printed. */
function watchPrinting(buildAll) {
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

function head({ traces, positions }) {
    const button = make("button", { type: "button", class: "scheme", onclick() {
        document.documentElement.dataset.theme = scheme() === "dark" ? "light" : "dark";
        name();
        repaintAll();
    } });
    const name = () => (button.textContent = scheme() === "dark" ? "Light" : "Dark");
    name();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", name);
    const named = ({ model }, i) => make("p", { class: "what" }, traces.length > 1 && make("b", {}, `${"AB"[i]} `),
        isolated(model.title), ` · ${asCount(model.parameters)} parameters`);
    const lines = traces.length ? traces.map(named) : make("p", { class: "what" }, positions?.kind ?? "sinusoidal");
    const long = traces.length === 1 && traces[0].source.text.length > 120;
    const title = make("h1", { class: long ? "long" : null }, titleOf(traces));
    return make("header", {}, make("div", {}, title, lines), button);
}

function titleOf([one, other]) {
    if (other) return "Two translations compared";
    if (!one) return "Positions in a Transformer";
    return make("span", inLanguage(one.source.language, one.source.text), one.source.text);
}

open();
