"use strict";
// Theme, keyboard shortcuts with their help, and groups of links that are one stop of the Tab key.
(() => {
  const { el } = lmm;

  // Light, dark, or as the system has it; remembered where the browser lets a page from disk.
  const select = document.getElementById("theme");
  const remembered = (() => {
    try { return localStorage.getItem("lmmscore-theme") || ""; } catch { return ""; }
  })();

  function choose(theme) {
    if (theme) document.documentElement.dataset.theme = theme;
    else delete document.documentElement.dataset.theme;
  }

  select.value = ["light", "dark"].includes(remembered) ? remembered : "";
  choose(select.value);
  select.addEventListener("change", () => {
    choose(select.value);
    try { localStorage.setItem("lmmscore-theme", select.value); } catch { /* from disk */ }
  });

  // Arrow keys move inside such a group; Tab leaves it.
  lmm.roving = (group) => {
    const stops = () => [...group.querySelectorAll("a[href], button")];
    const settle = (chosen) => {
      for (const stop of stops()) stop.tabIndex = stop === chosen ? 0 : -1;
    };
    settle(stops()[0]);
    group.addEventListener("focusin", (event) => {
      const stop = event.target.closest("a[href], button");
      if (stop) settle(stop);
    });
    group.addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (!by) return;
      const all = stops();
      const next = all[all.indexOf(document.activeElement) + by];
      if (next) { event.preventDefault(); next.focus(); }
    });
  };
  for (const group of document.querySelectorAll("[data-roving]")) lmm.roving(group);

  // A table that fits needs no stop for scrolling.
  lmm.scrollStops = () => {
    for (const part of document.querySelectorAll(".scroll, .plot.wide")) {
      if (part.scrollWidth > part.clientWidth + 1) part.tabIndex = 0;
      else part.removeAttribute("tabindex");
    }
  };
  window.addEventListener("resize", lmm.scrollStops);

  const help = document.getElementById("help");
  const SHORTCUTS = [
    ["?", "this help"],
    ["r", "result"],
    ["e", "edits"],
    ["c", "conversations"],
    ["/", "find an item"],
    ["j, k", "next, previous item"],
    ["n, p", "next, previous page of items"],
    ["Enter", "open an edit in the viewer"],
    ["←, →", "viewer: other methods"],
    ["↑, ↓", "viewer: other items"],
    ["1, 2, 3, 4", "viewer: side by side, wipe, blink, difference"],
    ["Space", "viewer: hold to see the source"],
    ["+, −, 0", "viewer: zoom in, out, whole picture"],
    ["Esc", "close"],
  ];
  document.getElementById("help-list").append(...SHORTCUTS.map(([keys, what]) => el("div", {},
    el("dt", {}, keys.split(", ").flatMap((key, n) => [n ? " " : "", el("kbd", {}, key)])),
    el("dd", {}, what))));
  document.getElementById("help-button").addEventListener("click", () => help.showModal());

  const jump = (hash) => () => { location.hash = hash; };
  const keys = {
    "?": () => help.showModal(),
    r: jump("#result"),
    e: jump("#gallery"),
    c: jump("#conversations"),
    "/": () => document.querySelector("#gallery-tools [name=find]").focus(),
    j: () => lmm.gallery.step(1),
    k: () => lmm.gallery.step(-1),
    n: () => lmm.gallery.turn(1),
    p: () => lmm.gallery.turn(-1),
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input, select, textarea, dialog[open]")) return;
    const act = keys[event.key];
    if (act) { event.preventDefault(); act(); }
  });
})();
