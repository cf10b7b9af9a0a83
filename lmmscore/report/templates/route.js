"use strict";
// Links straight to a table, a choice of edits, an item, an edit, a conversation or a turn.
(() => {
  const finders = {
    board: (name) => lmm.leaderboard.reveal("board-" + name),
    item: (name) => lmm.gallery.reveal(name),
    talk: (name) => lmm.conversations.reveal(name, false),
    turn: (name) => lmm.conversations.reveal(name, true),
  };

  function find(name) {
    const [, kind, rest] = /^(board|item|talk|turn)-(.+)$/.exec(name) || [];
    const plain = document.getElementById(name);
    return kind ? finders[kind](rest) || plain : plain;
  }

  // Cards on the way get their true height only when they come near, which moves what is below.
  function settle(found, frames) {
    found.scrollIntoView();
    if (frames) requestAnimationFrame(() => settle(found, frames - 1));
  }

  function go() {
    const [name, query] = decodeURIComponent(location.hash.slice(1)).split("?");
    const parameters = new URLSearchParams(query || "");
    for (const other of document.querySelectorAll(".here")) other.classList.remove("here");
    if (name.startsWith("edit-")) {
      if (lmm.viewer.open(name.slice(5), parameters)) return;
    } else if (lmm.viewer.isOpen()) {
      lmm.viewer.close();
    }
    if (!name) return;
    if (name === "gallery" && query !== undefined) lmm.gallery.restore(parameters);
    const found = find(name);
    if (!found) { lmm.say("Nothing on this page is called " + name + "."); return; }
    for (let holder = found.closest("details"); holder; holder = holder.parentElement.closest("details")) {
      holder.open = true;
    }
    found.classList.add("here");
    if (found.hasAttribute("tabindex")) found.focus({ preventScroll: true });
    settle(found, 8);
  }

  function start() {
    lmm.conversations.start();
    lmm.gallery.start();
    lmm.scrollStops();
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
