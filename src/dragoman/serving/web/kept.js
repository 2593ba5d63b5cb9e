// What the browser keeps of the choices of a person: nothing where the person or the browser denies it.

/** The text under a name, or null. `where` is localStorage or sessionStorage; to read its name may fail, too. */
export function kept(name, where = "localStorage") {
    try {
        return window[where].getItem(name);
    } catch {
        return null;
    }
}

/** Keep a text under a name; an empty one is forgotten. */
export function keep(name, text, where = "localStorage") {
    try {
        if (text) window[where].setItem(name, text);
        else window[where].removeItem(name);
    } catch {
        // it holds until the page is closed
    }
}
