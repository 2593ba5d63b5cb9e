// A matrix as a heat map on a canvas, with a cursor that mouse and keyboard move.
//
// A matrix is {rows, columns, values, state, scale}: rows and columns are lists of {label}, values is flat,
// state(r, c) is SHOWN, MASKED or ABSENT, and scale determines the colours.

import { LADDERS, rgb, scaleOf, scheme } from "./colour.js";
import { fixed } from "./data.js";
import { live, table } from "./controls.js";
import { make } from "./dom.js";

export const SHOWN = 0;
export const MASKED = 1; // the model must not see it: hatched
export const ABSENT = 2; // no such cell: left empty

export const allShown = () => SHOWN;
export const FONT = "system-ui, sans-serif";

/** One pixel for each cell. */
function pixels({ rows, columns, values, state, scale }) {
    const { shades: table, shade } = scaleOf(scale);
    const masked = rgb(LADDERS[scheme()].masked);
    const image = new ImageData(columns.length, rows.length);
    for (let r = 0, i = 0; r < rows.length; r++) {
        for (let c = 0; c < columns.length; c++, i++) {
            const of = state(r, c);
            if (of === ABSENT) continue;
            const at = 3 * shade(values[i]);
            image.data[4 * i] = of === MASKED ? masked[0] : table[at];
            image.data[4 * i + 1] = of === MASKED ? masked[1] : table[at + 1];
            image.data[4 * i + 2] = of === MASKED ? masked[2] : table[at + 2];
            image.data[4 * i + 3] = 255;
        }
    }
    return image;
}

/** A matrix so small that only its pattern is visible. Each repaint calls `matrix` again. */
export function thumbnail(label, matrix) {
    const canvas = make("canvas", { class: "thumbnail", role: "img", "aria-label": label });
    const paint = () => {
        const image = pixels(matrix());
        [canvas.width, canvas.height] = [image.width, image.height];
        canvas.getContext("2d").putImageData(image, 0, 0);
        canvas.style.imageRendering = image.width > 40 ? "auto" : "pixelated"; // smooth, so that fine lines stay visible
    };
    canvas.addEventListener("repaint", paint);
    paint();
    return canvas;
}

/**
 * The heat map. `style` is "tokens": labelled rows and columns and square cells; "numbers": as wide as the
 * room allows, with some labels; "square": the same with square cells; "bare": no labels and no keyboard.
 * `moved(r, c)` is called when the reader moves the cursor; `read(matrix, r, c)` fills the readout. `arrows` is what
 * a screen reader says of the keys, `masked` what the cursor says of a masked cell.
 */
export function heatMap({
    label, style = "tokens", read, moved = () => undefined,
    arrows = "Arrow keys move from cell to cell.", masked = "masked",
}) {
    const bare = style === "bare";
    const canvas = make("canvas", bare ? { role: "img", "aria-label": label }
        : { tabindex: 0, role: "application", "aria-label": `${label}. ${arrows}` });
    const flag = make("span", { class: "flag", "aria-hidden": "true", hidden: true });
    const box = make("div", { class: bare ? "heat" : "scroll heat" }, make("div", { class: "frame" }, canvas, flag));
    const readout = read && live();
    let matrix;
    let place; // where things are on the canvas
    let ground; // the picture without labels and cursor; moving the cursor does not change it
    let cursor = [0, 0];

    const repaint = () => {
        if (!matrix || !box.clientWidth) return; // hidden: the observer calls again
        place = layOut(matrix, style, box.clientWidth, canvas.getContext("2d"));
        fit(canvas, place, matrix);
        ground = paintCells(canvas, matrix, place);
        paint(canvas, matrix, place, ground, cursor);
    };

    const point = (r, c) => {
        cursor = [Math.min(r, matrix.rows.length - 1), Math.min(c, matrix.columns.length - 1)];
        if (place) paint(canvas, matrix, place, ground, cursor);
        if (read) readout.replaceChildren(...read(matrix, ...cursor));
    };

    const go = (r, c) => {
        if (r === cursor[0] && c === cursor[1] && !flag.hidden) return;
        point(r, c);
        moved(...cursor);
        const state = matrix.state(...cursor);
        const value = matrix.values[cursor[0] * matrix.columns.length + cursor[1]];
        flag.textContent = state === SHOWN ? fixed(value, 3) : state === MASKED ? masked : "";
        flag.hidden = state === ABSENT;
        flag.style.left = `${place.left + (cursor[1] + 0.5) * place.across}px`;
        flag.style.top = `${place.top + cursor[0] * place.down}px`;
    };

    canvas.addEventListener("repaint", repaint);
    canvas.addEventListener("pointermove", (event) => {
        const c = Math.floor((event.offsetX - place.left) / place.across);
        const r = Math.floor((event.offsetY - place.top) / place.down);
        if (r >= 0 && c >= 0 && r < matrix.rows.length && c < matrix.columns.length) go(r, c);
        else flag.hidden = true;
    });
    canvas.addEventListener("pointerleave", () => (flag.hidden = true));
    canvas.addEventListener("blur", () => (flag.hidden = true));
    canvas.addEventListener("keydown", (event) => {
        const to = step(event, cursor, matrix);
        if (!to) return;
        event.preventDefault();
        go(...to);
        flag.scrollIntoView({ block: "nearest", inline: "nearest" });
    });
    let seen = 0;
    new ResizeObserver(() => {
        if (box.clientWidth === seen) return; // painting changes the height only
        seen = box.clientWidth;
        repaint();
    }).observe(box);

    return {
        element: make("div", { class: `heatmap ${style}` }, readout, box),
        point,
        show(to) {
            matrix = to;
            repaint();
            point(...cursor);
        },
    };
}

/** The cell that a key leads to. At the edge an arrow key stays there. */
function step({ key, ctrlKey, altKey, metaKey }, [r, c], { rows, columns }) {
    if (ctrlKey || altKey || metaKey) return undefined;
    return {
        ArrowUp: [Math.max(r - 1, 0), c],
        ArrowDown: [Math.min(r + 1, rows.length - 1), c],
        ArrowLeft: [r, Math.max(c - 1, 0)],
        ArrowRight: [r, Math.min(c + 1, columns.length - 1)],
        Home: [r, 0],
        End: [r, columns.length - 1],
        PageUp: [0, c],
        PageDown: [rows.length - 1, c],
    }[key];
}

/** Sizes: `left` and `top` leave room for labels, a cell is `across` wide and `down` high, labels are tilted. */
function layOut({ rows, columns }, style, room, context) {
    if (style === "bare") {
        const cell = Math.max(1, Math.min(room - 4, 300) / Math.max(rows.length, columns.length));
        return { style, left: 2, top: 2, right: 2, across: cell, down: cell };
    }
    context.font = `700 13px ${FONT}`; // the widest that labels get
    const long = ({ label }) => context.measureText(label).width;
    const longest = (axis, most) => Math.min(most, Math.max(...axis.map(long)));
    const left = Math.ceil(longest(rows, Math.min(140, room * 0.3))) + 8;
    if (style !== "tokens") {
        const widest = style === "square" ? Math.min(36, 420 / columns.length) : 24;
        const across = Math.min((room - left - 4) / columns.length, widest);
        const down = style === "square" ? across : Math.min(Math.max(300 / rows.length, 2), 16);
        return { style, left, top: 20, right: 4, across, down, apart: (longest(columns, 60) + 8) / across };
    }
    const most = Math.min(140, room * 0.3);
    const loose = Math.floor((room - left - 24) / columns.length);
    const cell = Math.min(Math.max(loose, 10), 32);
    const tilt = cell >= 18 ? 0.9 : Math.PI / 2;
    const reach = longest(columns, most);
    const right = Math.max(4, reach * Math.cos(tilt) - cell / 2 + 8);
    return { style, left, top: Math.ceil(reach * Math.sin(tilt)) + 14, right, across: cell, down: cell, tilt, most };
}

/** Set the size of a canvas: sharp on dense screens, and within the limits of all browsers. */
function fit(canvas, place, { rows, columns }) {
    const width = Math.ceil(place.left + columns.length * place.across + place.right);
    const height = Math.ceil(place.top + rows.length * place.down + 4);
    const fine = Math.max(devicePixelRatio, document.documentElement.classList.contains("printing") ? 3 : 1);
    place.ratio = Math.min(fine, Math.sqrt(16e6 / (width * height)));
    [canvas.width, canvas.height] = [width * place.ratio, height * place.ratio].map(Math.round);
    canvas.style.width = `${width}px`;
}

/** Paint the cells on a separate canvas. */
function paintCells({ width, height }, matrix, place) {
    const [ground, bitmap] = [document.createElement("canvas"), document.createElement("canvas")];
    [ground.width, ground.height] = [width, height];
    [bitmap.width, bitmap.height] = [matrix.columns.length, matrix.rows.length];
    bitmap.getContext("2d").putImageData(pixels(matrix), 0, 0);
    const context = ground.getContext("2d");
    const { left, top, across, down, ratio } = place;
    context.scale(ratio, ratio);
    context.imageSmoothingEnabled = across < 1; // cells finer than pixels are averaged, not skipped
    context.drawImage(bitmap, left, top, across * bitmap.width, down * bitmap.height);
    hatch(context, matrix, place);
    if (across >= 14 && down >= 14) rule(context, matrix, place);
    if (matrix.cut) divide(context, matrix, place);
    return ground;
}

function paint(canvas, matrix, place, ground, cursor) {
    const context = canvas.getContext("2d");
    const { left, top, across, down, ratio } = place;
    const ink = getComputedStyle(canvas).color;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, canvas.width, canvas.height);
    context.drawImage(ground, 0, 0);
    context.scale(ratio, ratio);
    if (place.style !== "bare") labels(context, matrix, place, cursor, ink);
    context.strokeStyle = ink;
    context.lineWidth = 2;
    const [r, c] = cursor;
    context.strokeRect(left + c * across - 1, top + r * down - 1, Math.max(across, 3) + 2, Math.max(down, 3) + 2);
}

/** Hatch masked cells, so that they do not look like small weights. */
function hatch(context, { rows, columns, state }, { left, top, across, down }) {
    context.save();
    context.beginPath();
    rows.forEach((_, r) => {
        columns.forEach((_, c) => {
            if (state(r, c) === MASKED) context.rect(left + c * across, top + r * down, across, down);
        });
    });
    context.clip();
    context.beginPath();
    const [width, height] = [columns.length * across, rows.length * down];
    for (let at = -height; at < width; at += 6) {
        context.moveTo(left + at, top + height);
        context.lineTo(left + at + height, top);
    }
    context.strokeStyle = LADDERS[scheme()].hatch;
    context.lineWidth = 1;
    context.stroke();
    context.restore();
}

/** Draw a gap between the two sentences. */
function divide(context, { rows, columns, cut }, { left, top, across, down }) {
    context.fillStyle = LADDERS[scheme()].masked;
    context.fillRect(left, top + cut * down - 1.5, columns.length * across, 3);
    context.fillRect(left + cut * across - 1.5, top, 3, rows.length * down);
}

/** Draw lines between the cells, and a dash in negative ones, so that colour is not the only sign. */
function rule(context, { rows, columns, values, scale, state }, { left, top, across, down }) {
    context.fillStyle = LADDERS[scheme()].masked;
    const [width, height] = [columns.length * across, rows.length * down];
    for (let r = 1; r < rows.length; r++) context.fillRect(left, top + r * down - 0.5, width, 1);
    for (let c = 1; c < columns.length; c++) context.fillRect(left + c * across - 0.5, top, 1, height);
    if (!scale.signed) return;
    const { shades: table, shade } = scaleOf(scale);
    values.forEach((value, i) => {
        const [r, c] = [Math.floor(i / columns.length), i % columns.length];
        if (value >= 0 || state(r, c) !== SHOWN) return;
        const at = 3 * shade(value);
        const bright = table[at] + table[at + 1] + table[at + 2] > 384;
        context.fillStyle = bright ? "#00000080" : "#ffffff90";
        context.fillRect(left + (c + 0.35) * across, top + (r + 0.5) * down - 0.5, 0.3 * across, 1);
    });
}

/** Draw the labels, fewer where they would touch. Those of the cursor are bold. */
function labels(context, { rows, columns }, place, [r, c], ink) {
    const { left, top, across, down, tilt, style } = place;
    const size = Math.min(13, Math.max(9, (style === "tokens" ? down : 13) - 1));
    context.textBaseline = "middle";
    context.fillStyle = ink;
    const write = (text, bold, x, y, align, most) => {
        context.font = `${bold ? 700 : 400} ${size}px ${FONT}`;
        context.globalAlpha = bold ? 1 : 0.75;
        context.textAlign = align;
        context.fillText(shortened(context, text, most), x, y);
    };
    thinned(rows, r, style === "tokens" ? 0 : 13 / down, (label, i, bold) => {
        write(label, bold, left - 6, top + (i + 0.5) * down, "right", left - 8);
    });
    thinned(columns, c, style === "tokens" ? 0 : place.apart, (label, i, bold) => {
        const x = left + (i + 0.5) * across;
        if (style !== "tokens") write(label, bold, x, top - 10, "center", 60);
        else if (/^\p{Script=Han}{1,4}$/u.test(label) && down >= 14) upright(label, bold, x);
        else {
            context.save();
            context.translate(x, top - 5);
            context.rotate(-tilt);
            write(label, bold, 0, 0, "left", place.most);
            context.restore();
        }
    });
    context.globalAlpha = 1;

    function upright(label, bold, x) {
        [...label].reverse().forEach((letter, i) => write(letter, bold, x, top - 10 - i * (size + 1), "center", 60));
    }
}

/** Write labels at regular steps and the one under the cursor, without others that would touch it. */
function thinned(axis, cursor, apart, write) {
    const every = niceStep(apart);
    axis.forEach(({ label }, i) => {
        const bold = i === cursor;
        if (bold || (i % every === 0 && Math.abs(i - cursor) >= apart)) write(label, i, bold);
    });
}

/** The smallest of 1, 2, 5, 10, 20, 50, ... that is at least `least`. */
function niceStep(least) {
    const ten = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
    return [1, 2, 5, 10].find((n) => n * ten >= least) * ten;
}

/** Text shortened to a width, with an ellipsis. */
function shortened(context, text, most) {
    if (context.measureText(text).width <= most) return text;
    const letters = [...text];
    while (letters.length > 1 && context.measureText(`${letters.join("")}…`).width > most) letters.pop();
    return `${letters.join("")}…`;
}

/** Whether a matrix leaves room next to it. */
export const fitsBeside = ({ columns }) => columns.length <= 32;

/** The numbers of a matrix, with dashes in masked and absent cells. */
export function matrixTable(kind, caption, { rows, columns, values, state }, show) {
    const head = ["", ...columns.map(({ label }) => label)];
    return table(kind, caption, head, rows.map(({ label }, r) =>
        [label, ...columns.map((_, c) => (state(r, c) === SHOWN ? show(values[r * columns.length + c]) : "–"))]));
}
