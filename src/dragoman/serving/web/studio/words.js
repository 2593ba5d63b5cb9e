// Numbers and times in words.

export const whole = (value) => Math.round(value).toLocaleString("en");
export const fixed = (digits) => (value) => value.toFixed(digits);
export const percent = (value) => `${(100 * value).toFixed(1)}%`;

/** Three significant digits, without an exponent where that is short. */
export function figure(value) {
    if (value === 0) return "0";
    const size = Math.abs(value);
    if (size >= 1e4) return short(value);
    return size < 1e-4 ? value.toExponential(2) : String(Number(value.toPrecision(3)));
}

/** 12,300 as 12.3k. */
export function short(value) {
    for (const [limit, letter] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
        if (Math.abs(value) >= limit) return `${Number((value / limit).toPrecision(3))}${letter}`;
    }
    return String(Number(value.toPrecision(3)));
}

/** 3:07 or 1:02:09 for seconds. */
export function clock(seconds) {
    const total = Math.max(0, Math.round(seconds));
    const [hours, minutes, rest] = [Math.floor(total / 3600), Math.floor(total / 60) % 60, total % 60];
    const two = (n) => String(n).padStart(2, "0");
    return hours ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`;
}

/** "5 s", "12 min" or "3 h" for seconds. */
export function about(seconds) {
    for (const [size, unit] of [[86400, "days"], [3600, "h"], [60, "min"]]) {
        if (seconds >= 2 * size) return `${Math.round(seconds / size)} ${unit}`;
    }
    return `${Math.round(seconds)} s`;
}
