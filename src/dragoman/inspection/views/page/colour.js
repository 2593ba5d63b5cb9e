// Colours of numbers. Weights go from the background to blue, signed numbers from orange over the background to
// blue. These two scales are here because canvases cannot read style.css. That file has the rest of the palette
// (Okabe and Ito 2008, safe for the colour-blind).

import { make } from "./dom.js";

export const LADDERS = {
    light: {
        weight: ["#f3f6f9", "#c9dff0", "#79b0da", "#2a77b4", "#083d6e"],
        signed: ["#8f3f00", "#dd7a1f", "#f8d3a8", "#f6f6f4", "#b9d7ee", "#3f8cc6", "#083d6e"],
        masked: "#ffffff",
        hatch: "#c9c9d2",
    },
    dark: {
        weight: ["#1f232a", "#22415e", "#2f70a6", "#68aee4", "#d6ecff"],
        signed: ["#ffc48a", "#e0832f", "#6b3f17", "#1f232a", "#1f4a70", "#4b9ad8", "#cbe7ff"],
        masked: "#16161a",
        hatch: "#4a4a56",
    },
};

/** Light or dark: as chosen with the button, otherwise as the system is set. Printing is always light. */
export function scheme() {
    const root = document.documentElement;
    if (root.classList.contains("printing")) return "light";
    return root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
}

export const rgb = (hex) => [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16));

/** 256 colours between the stops of a ladder, three numbers each. */
function shades(ladder) {
    const stops = ladder.map(rgb);
    const table = new Uint8ClampedArray(256 * 3);
    for (let i = 0; i < 256; i++) {
        const place = (i / 255) * (stops.length - 1);
        const low = Math.min(Math.floor(place), stops.length - 2);
        for (let c = 0; c < 3; c++) {
            table[3 * i + c] = stops[low][c] + (place - low) * (stops[low + 1][c] - stops[low][c]);
        }
    }
    return table;
}

/**
 * The 256 shades of the scale {signed, limit}, and a function from a number to its shade. Weights are shown by
 * their square root, because most are small and their differences matter.
 */
export function scaleOf({ signed, limit }) {
    const ladder = LADDERS[scheme()][signed ? "signed" : "weight"];
    const part = signed ? (value) => 0.5 + value / limit / 2 : (value) => Math.sqrt(Math.max(value, 0) / limit);
    return { shades: shades(ladder), shade: (value) => Math.round(255 * Math.min(Math.max(part(value), 0), 1)) };
}

export const WEIGHTS = { signed: false, limit: 1 };

/** The scale as a strip of its colours with some numbers under it. `change` draws it for another scale. */
export function legend(scale) {
    const canvas = make("canvas", { width: 256, height: 1, role: "img" });
    const ticks = make("div", { class: "ticks", "aria-hidden": "true" });
    const paint = () => {
        const { limit, signed } = scale;
        const { shades: table } = scaleOf(scale);
        const context = canvas.getContext("2d");
        const image = context.createImageData(256, 1);
        for (let i = 0; i < 256; i++) image.data.set([...table.subarray(3 * i, 3 * i + 3), 255], 4 * i);
        context.putImageData(image, 0, 0);
        const marks = signed ? [-limit, 0, limit] : [0, 0.05, 0.25, 0.5, 1].map((part) => part * limit);
        const place = (value) => (signed ? 0.5 + value / limit / 2 : Math.sqrt(value / limit));
        canvas.setAttribute("aria-label", `Colours from ${asShort(marks[0])} to ${asShort(marks.at(-1))}`);
        ticks.replaceChildren(...marks.map((value) =>
            make("span", { style: { left: `${100 * place(value)}%` } }, asShort(value))));
    };
    canvas.addEventListener("repaint", paint);
    paint();
    return {
        element: make("div", { class: "legend" }, canvas, ticks),
        change(to) {
            scale = to;
            paint();
        },
    };
}

/** A number with three significant digits. */
export const asShort = (value) => String(Number(value.toPrecision(3)));

/** Redraw what has colours of its own, after the colour scheme changed or for printing. */
export function repaintAll() {
    for (const one of document.querySelectorAll("canvas, table.matrix")) one.dispatchEvent(new Event("repaint"));
}

/** A button that switches between light and dark. The first choice is the system's. `names` is what it says. */
export function schemeButton(names = { light: "Light", dark: "Dark" }) {
    const name = () => (button.textContent = scheme() === "dark" ? names.light : names.dark);
    const changed = () => {
        name();
        repaintAll();
    };
    const button = make("button", { type: "button", class: "scheme", onclick() {
        document.documentElement.dataset.theme = scheme() === "dark" ? "light" : "dark";
    } });
    name();
    new MutationObserver(changed).observe(document.documentElement, { attributeFilter: ["data-theme"] });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed);
    return button;
}
