// Light, dark, or as the system has it; remembered where the browser lets a page remember.
const themeKey = "lmmscore-theme";

function rememberedTheme() {
  try {
    return localStorage.getItem(themeKey) || "";
  } catch {
    return "";
  }
}

function applyTheme(theme) {
  if (theme) {
    document.documentElement.dataset.theme = theme;
  } else {
    delete document.documentElement.dataset.theme;
  }
}

export function startTheme(select) {
  const known = ["light", "dark"].includes(rememberedTheme()) ? rememberedTheme() : "";
  select.value = known;
  applyTheme(known);
  select.addEventListener("change", () => {
    applyTheme(select.value);
    try {
      localStorage.setItem(themeKey, select.value);
    } catch {
      // A page that may not remember is light or dark until it is closed.
    }
  });
}
