// Light or dark: as the system has it, until the person chooses.

import { by } from "./dom.js";
import { keep, kept } from "./kept.js";

const STORED = "dragoman-theme";
const system = matchMedia("(prefers-color-scheme: dark)");

const isDark = () => (document.documentElement.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark";

function label() {
    by("theme").textContent = isDark() ? "Light" : "Dark";
    by("theme").setAttribute("aria-label", isDark() ? "Use light colours" : "Use dark colours");
}

export function startTheme() {
    const stored = kept(STORED);
    if (["light", "dark"].includes(stored)) document.documentElement.dataset.theme = stored;
    label();
    system.addEventListener("change", label);
    new MutationObserver(label).observe(document.documentElement, { attributeFilter: ["data-theme"] });
    by("theme").addEventListener("click", () => {
        document.documentElement.dataset.theme = isDark() ? "light" : "dark";
        keep(STORED, document.documentElement.dataset.theme);
    });
}
