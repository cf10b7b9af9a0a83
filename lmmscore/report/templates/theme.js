"use strict";
// Light, dark, or as the system has it; remembered where the browser lets a page from disk remember.
(() => {
  const select = document.getElementById("theme");
  const remembered = (() => { try { return localStorage.getItem("lmmscore-theme") || ""; } catch { return ""; } })();

  function choose(theme) {
    if (theme) document.documentElement.dataset.theme = theme;
    else delete document.documentElement.dataset.theme;
  }

  select.value = ["light", "dark"].includes(remembered) ? remembered : "";
  choose(select.value);
  select.addEventListener("change", () => {
    choose(select.value);
    try { localStorage.setItem("lmmscore-theme", select.value); } catch { /* a page from disk may not remember */ }
  });
})();
