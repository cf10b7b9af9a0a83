"use strict";
// Links straight to an item, a conversation or a turn.
(() => {
  function find(name) {
    const [, kind, rest] = /^(item|talk|turn)-(.+)$/.exec(name) || [];
    if (!kind) return document.getElementById(name);
    return kind === "item" ? lmm.gallery.reveal(rest) : lmm.dialogue.reveal(rest, kind === "turn");
  }

  // Cards on the way get their true height only when they come near, which moves what lies below them.
  function settle(found, frames) {
    found.scrollIntoView();
    if (frames) requestAnimationFrame(() => settle(found, frames - 1));
  }

  function go() {
    const name = decodeURIComponent(location.hash.slice(1));
    if (!name) return;
    const found = find(name);
    for (const other of document.querySelectorAll(".here")) other.classList.remove("here");
    if (!found) { lmm.say("Nothing on this page is called " + name + "."); return; }
    found.classList.add("here");
    if (found.hasAttribute("tabindex")) found.focus({ preventScroll: true });
    settle(found, 8);
  }

  function start() {
    lmm.dialogue.start();
    lmm.gallery.start();
    window.addEventListener("hashchange", go);
    go();
  }

  // A link to where one is already fires no event, yet the reader may have scrolled away.
  document.addEventListener("click", (event) => {
    const link = event.target.closest && event.target.closest('a[href^="#"]');
    if (link && link.getAttribute("href") === location.hash) { event.preventDefault(); go(); }
  });
  // Pictures and conversations stand below this code.
  document.addEventListener("DOMContentLoaded", start);
})();
