// A chart of lines in SVG. A cursor reads values, by pointer or by arrow keys; a part of the axis is chosen by
// dragging or with + and -. The numbers are also in a table.

import { table } from "./controls.js";
import { draw, make, scrolling } from "./dom.js";
import { nearest, ticksOf } from "./scale.js";

const HEIGHT = 200;
const EDGE = { left: 52, right: 16, top: 10, bottom: 24 };
const DRAG = 6; // pixels from which a press is a choice of a part
const MARKED = 40; // points up to which each is marked
const ROWS = 500;

let count = 0;

export class Chart {
    #lines = [];
    #places = [];
    #cursor = null;
    #wide = 0;
    #waiting = false;

    /** `asks` has the functions cursor(place), zoom(range) and all(). */
    constructor({ title, unit, show }, asks) {
        Object.assign(this, { title, show, asks, clip: `clip-${count++}` });
        this.svg = draw("svg", { class: "chart", tabindex: 0, role: "slider", "aria-label": `${title}, ${unit}` });
        this.readout = make("p", { class: "readout" });
        this.box = scrolling(`The numbers of ${title}`);
        this.details = make("details", { class: "numbers", ontoggle: () => this.#fill() },
            make("summary", {}, "Numbers"), this.box);
        this.element = make("figure", {},
            make("figcaption", {}, make("b", {}, title), " ", make("small", {}, unit)),
            this.svg, this.readout, this.details);
        this.#listen();
        new ResizeObserver(([entry]) => {
            if (Math.abs(entry.contentRect.width - this.#wide) < 1) return;
            this.#wide = entry.contentRect.width;
            this.#soon();
        }).observe(this.element);
    }

    /** Show lines {name, hue, faint, points: [[place, value or null]]} over an axis {low, high, show, name}. */
    set(lines, axis, log) {
        this.#lines = lines;
        Object.assign(this, { axis, log });
        const within = ([place]) => place >= axis.low && place <= axis.high;
        const places = lines.flatMap(({ points }) => points.filter(within).map(([place]) => place));
        this.#places = [...new Set(places)].sort((a, b) => a - b);
        this.#soon();
    }

    /** Read the values at a place, or the last ones if it is null. */
    cursor(place) {
        this.#cursor = place;
        this.#read();
    }

    #soon() {
        if (this.#waiting) return;
        this.#waiting = true;
        requestAnimationFrame(() => {
            this.#waiting = false;
            this.#draw();
        });
    }

    #draw() {
        if (!this.axis || !this.#wide) return;
        const { low, high } = this.axis;
        const inner = this.#wide - EDGE.left - EDGE.right;
        this.x = { low, high: high > low ? high : low + 1, from: EDGE.left, length: inner };
        this.x.at = (place) => EDGE.left + (inner * (place - low)) / (this.x.high - low);
        this.y = this.#upwards();
        this.svg.setAttribute("viewBox", `0 0 ${this.#wide} ${HEIGHT}`);
        this.svg.setAttribute("width", this.#wide);
        this.svg.setAttribute("height", HEIGHT);
        this.pointer = draw("g", { class: "pointer" });
        const area = { x: EDGE.left, y: 0, width: Math.max(inner, 1), height: HEIGHT - EDGE.bottom + 1 };
        this.svg.replaceChildren(
            draw("clipPath", { id: this.clip }, draw("rect", area)),
            ...this.#grid(),
            draw("g", { "clip-path": `url(#${this.clip})` }, this.#lines.map((line) => this.#line(line))),
            this.pointer);
        this.#read();
        if (this.details.open) this.#fill();
    }

    #upwards() {
        const { low, high } = this.axis;
        const all = this.#lines.flatMap(({ points }) => points).filter(([, value]) => value != null);
        const inside = all.filter(([place]) => place >= low && place <= high);
        const values = (inside.length ? inside : all).map(([, value]) => value);
        const log = this.log && values.every((value) => value > 0);
        const scale = log ? Math.log : (value) => value;
        const { ticks, from, to } = ticksOf(values.reduce((a, b) => Math.min(a, b), Infinity),
            values.reduce((a, b) => Math.max(a, b), -Infinity), 5, log);
        const length = HEIGHT - EDGE.top - EDGE.bottom;
        const part = (value) => (scale(value) - scale(from)) / (scale(to) - scale(from));
        return { ticks, at: (value) => HEIGHT - EDGE.bottom - length * part(value) };
    }

    #grid() {
        const right = this.#wide - EDGE.right;
        const across = this.y.ticks.map((value) => [
            draw("line", { class: "rule", x1: EDGE.left, x2: right, y1: this.y.at(value), y2: this.y.at(value) }),
            draw("text", { x: EDGE.left - 7, y: this.y.at(value) + 4, "text-anchor": "end" }, this.show.tick(value)),
        ]);
        const { ticks } = ticksOf(this.x.low, this.x.high, Math.max(3, Math.floor(this.x.length / 90)), false, this.axis.time);
        const along = ticks.filter((place) => place >= this.x.low && place <= this.x.high).map((place) =>
            draw("text", { x: this.x.at(place), y: HEIGHT - 6, "text-anchor": "middle" }, this.axis.tick(place)));
        return [...across.flat(), ...along];
    }

    #line({ name, hue, faint, points }) {
        let path = "";
        let pen = "M";
        for (const [place, value] of points) {
            if (value == null) pen = "M";
            else {
                path += `${pen}${this.x.at(place).toFixed(1)} ${this.y.at(value).toFixed(1)}`;
                pen = "L";
            }
        }
        const marks = points.length <= MARKED && !faint ? points.filter(([, value]) => value != null) : [];
        return draw("g", { class: `hue${hue % 8} ${faint ? "faint" : ""}`, "data-line": name },
            draw("path", { class: `curve dash${Math.floor(hue / 8) % 4}`, d: path }),
            marks.map(([place, value]) =>
                draw("circle", { class: "mark", cx: this.x.at(place), cy: this.y.at(value), r: 2.5 })));
    }

    /** Draw the cursor, and write the values there. */
    #read() {
        if (!this.pointer) return;
        const last = this.#places.length - 1;
        const index = this.#cursor == null ? last : nearest(this.#places, this.#cursor);
        const place = this.#places[index];
        this.pointer.replaceChildren();
        const parts = [];
        for (const line of this.#lines) {
            const values = line.points.filter(([at, value]) => value != null && at <= this.axis.high && at >= this.axis.low);
            const one = values[this.#cursor == null ? values.length - 1 : nearest(values.map(([at]) => at), place)];
            if (!one || (this.#cursor != null && this.#ended(values, place))) continue;
            parts.push({ line, text: this.show.value(one[1]) });
            if (this.#cursor != null) {
                const [cx, cy] = [this.x.at(one[0]), this.y.at(one[1])];
                this.pointer.append(draw("circle", { class: `hue${line.hue % 8} dot`, cx, cy, r: 4 }));
            }
        }
        if (this.#cursor != null && place != null) {
            const at = this.x.at(place);
            this.pointer.prepend(draw("line", { x1: at, x2: at, y1: EDGE.top, y2: HEIGHT - EDGE.bottom }));
        }
        const where = this.#cursor == null ? "last" : `${this.axis.name} ${this.axis.show(place)}`;
        this.readout.replaceChildren(make("span", {}, where), ...parts.map(({ line, text }) => make("span", {},
            make("i", { class: `key hue${line.hue % 8} ${line.faint ? "faint" : ""}` }), ` ${line.name} `, make("b", {}, text))));
        const told = parts.map(({ line, text }) => `${line.name} ${text}`).join(", ");
        const value = { "aria-valuemin": 0, "aria-valuemax": Math.max(last, 0), "aria-valuenow": Math.max(index, 0) };
        for (const [name, number] of Object.entries(value)) this.svg.setAttribute(name, number);
        this.svg.setAttribute("aria-valuetext", `${where}: ${told || "no values"}`);
    }

    /** Whether a line is over before this place, or begins after it. */
    #ended(values, place) {
        const slack = (this.axis.high - this.axis.low) / 50;
        return place > values[values.length - 1][0] + slack || place < values[0][0] - slack;
    }

    #fill() {
        if (!this.details.open || !this.axis) return;
        const every = Math.ceil(this.#places.length / ROWS);
        const places = this.#places.filter((_, i) => i % every === 0 || i === this.#places.length - 1);
        const columns = this.#lines.map(({ points }) => new Map(points));
        const rows = places.map((place) => [this.axis.show(place), ...columns.map((values) => {
            const value = values.get(place);
            return value == null ? "" : this.show.value(value);
        })]);
        this.box.replaceChildren(table(this.title, [this.axis.name, ...this.#lines.map(({ name }) => name)], rows));
    }

    #listen() {
        let pressed = null;
        const place = (event) => {
            const at = event.clientX - this.svg.getBoundingClientRect().left - EDGE.left;
            const part = Math.min(Math.max(at / this.x.length, 0), 1);
            return this.x.low + part * (this.x.high - this.x.low);
        };
        this.svg.addEventListener("pointerdown", (event) => {
            if (this.x) pressed = { at: event.clientX, place: place(event) };
        });
        this.svg.addEventListener("pointermove", (event) => {
            if (!this.x) return;
            this.asks.cursor(place(event));
            if (!pressed || Math.abs(event.clientX - pressed.at) < DRAG) return;
            const ends = [pressed.place, place(event)].map(this.x.at).sort((a, b) => a - b);
            this.pointer.prepend(draw("rect", { class: "part", x: ends[0], width: ends[1] - ends[0], y: EDGE.top,
                height: HEIGHT - EDGE.top - EDGE.bottom }));
        });
        this.svg.addEventListener("pointerup", (event) => {
            if (pressed && Math.abs(event.clientX - pressed.at) >= DRAG) {
                this.asks.zoom([pressed.place, place(event)].sort((a, b) => a - b));
            }
            pressed = null;
        });
        for (const end of ["pointerleave", "pointercancel"]) {
            this.svg.addEventListener(end, () => {
                pressed = null;
                this.asks.cursor(null);
            });
        }
        this.svg.addEventListener("blur", () => this.asks.cursor(null));
        this.svg.addEventListener("keydown", (event) => this.#press(event));
    }

    #press(event) {
        if (event.ctrlKey || event.altKey || event.metaKey || !this.#places.length) return;
        const last = this.#places.length - 1;
        const index = this.#cursor == null ? last : nearest(this.#places, this.#cursor);
        const to = { ArrowLeft: index - 1, ArrowDown: index - 1, ArrowRight: index + 1, ArrowUp: index + 1,
            PageUp: index + 10, PageDown: index - 10, Home: 0, End: last }[event.key];
        const width = this.x.high - this.x.low;
        if (to !== undefined) this.asks.cursor(this.#places[Math.min(Math.max(to, 0), last)]);
        else if (event.key === "+") {
            const middle = this.#places[index];
            this.asks.zoom([Math.max(middle - width / 4, this.x.low), Math.min(middle + width / 4, this.x.high)]);
        } else if (event.key === "-") this.asks.zoom([this.x.low - width / 2, this.x.high + width / 2]);
        else if (event.key === "Escape" || event.key === "0") this.asks.all();
        else return;
        event.preventDefault();
    }
}
