// Round places on an axis, and the search for a place.

/** Round values that cover [low, high], about `most` of them, and the range that they cover or touch. */
export function ticksOf(low, high, most, log = false, time = false) {
    if (!(low <= high)) [low, high] = [0, 1];
    if (log) return powers(low, high, most);
    if (low >= 0 && low < 0.15 * high) low = 0;
    const span = high - low || Math.abs(high) || 1;
    const step = (time && minutes(span / most)) || round(span / most);
    const from = Math.floor(low / step + 1e-9) * step;
    const to = Math.max(Math.ceil(high / step - 1e-9) * step, from + step);
    const ticks = Array.from({ length: Math.round((to - from) / step) + 1 }, (_, i) => Number((from + i * step).toPrecision(12)));
    return { ticks, from, to };
}

function powers(low, high, most) {
    const [from, to] = high > low ? [low / 1.03, high * 1.03] : [low / 2, high * 2];
    const factors = to / from > 100 ? [1] : to / from > 6 ? [1, 2, 5] : [1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9];
    const ticks = [];
    for (let power = Math.floor(Math.log10(from)); power <= Math.ceil(Math.log10(to)); power++) {
        ticks.push(...factors.map((factor) => Number((factor * 10 ** power).toPrecision(3))));
    }
    const inside = (value) => value >= from && value <= to;
    const found = [ticks, ticksOf(low, high, most).ticks].map((some) => some.filter(inside));
    return { ticks: found[0].length > 1 ? found[0] : found[1], from, to };
}

/** The smallest of 1, 2, 5, 10, 20, ... times a power of ten that is at least `least`. */
function round(least) {
    const ten = 10 ** Math.floor(Math.log10(least));
    return [1, 2, 5, 10].find((n) => n * ten >= least * 0.999) * ten;
}

/** A round time of at least `least` seconds, or null for less than a second. */
function minutes(least) {
    const rounds = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200];
    return least < 1 ? null : (rounds.find((n) => n >= least) ?? Math.ceil(least / 86400) * 86400);
}

/** The index of the place nearest to `wanted` in an ascending list; -1 if it is empty. */
export function nearest(places, wanted) {
    let [low, high] = [0, places.length];
    while (low < high) {
        const middle = (low + high) >> 1;
        if (places[middle] < wanted) low = middle + 1;
        else high = middle;
    }
    if (low === places.length) return low - 1;
    return low > 0 && wanted - places[low - 1] <= places[low] - wanted ? low - 1 : low;
}
