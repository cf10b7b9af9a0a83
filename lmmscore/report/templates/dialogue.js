"use strict";
// One conversation at a time, as it was played.
lmm.dialogue = (() => {
  const { core, data, el, picture, figure, options } = lmm;
  const tools = document.getElementById("dialogue-tools");
  const place = document.getElementById("talk");
  const numbers = new Map(core.talks.map((talk, number) => [talk.id, number]));
  let open = -1;

  lmm.talkLabel = (id) => core.talks[numbers.get(id)].label;

  const run = () => Number(tools.elements.run ? tools.elements.run.value : 0);

  function unpack(number) {
    return data("talks-" + core.talks[number].bundle).find((talk) => talk.id === core.talks[number].id);
  }

  function fillItems() {
    const items = [...new Set(core.talks.filter((talk) => talk.run === run()).map((talk) => talk.item))];
    options(tools.elements.subject, items.map((item) => ["=" + item, item]));
    fillTalks();
  }

  function fillTalks() {
    const item = tools.elements.subject.value.slice(1);
    const found = core.talks.filter((talk) => talk.run === run() && talk.item === item);
    options(tools.elements.talk, found.map((talk) => [talk.id, talk.label]));
  }

  function show(number) {
    if (number === open) return;
    open = number;
    const listed = core.talks[number];
    if (tools.elements.run) tools.elements.run.value = String(listed.run);
    fillItems();
    tools.elements.subject.value = "=" + listed.item;
    fillTalks();
    tools.elements.talk.value = listed.id;
    draw(unpack(number), core.runs[listed.run]);
  }

  function draw(talk, here) {
    const methods = talk.order.map((k) => here.methods[k]);
    place.replaceChildren(el("article", { id: "talk-" + talk.id, "aria-labelledby": "talk-title", tabindex: "-1" },
      el("h3", { id: "talk-title" }, talk.item + ", repeat " + talk.repeat + (talk.about === "edit" ? ", " + methods[0] : "")),
      el("p", {}, el("em", {}, talk.instruction)),
      outcome(talk, here, methods),
      talk.system ? el("div", { class: "system" }, el("p", { class: "speaker" }, "System message"), el("p", { class: "said asked" }, talk.system)) : null,
      el("ol", { class: "turns" }, talk.turns.map((turn, n) => el("li", {}, turnOf(talk, turn, n + 1, methods))))));
  }

  function outcome(talk, here, methods) {
    const factors = here.factors.filter((each) => each.key !== here.overall);
    const stated = talk.read.some((line) => line.stated !== null);
    const heads = ["Image", "Method (ours)", ...factors.map((each) => each.key), "Overall (computed)", ...(stated ? ["Stated by the judge"] : [])];
    const rows = talk.read.map((line, n) => el("tr", {},
      el("th", { scope: "row" }, "Image " + (n + 1)), el("td", { class: "ours" }, methods[n]),
      line.scores.map((score) => el("td", { class: "num" }, figure(score))), el("td", { class: "num" }, figure(line.overall, 2)),
      stated ? el("td", { class: line.slip ? "num slip" : "num" }, (line.stated === null ? "–" : line.stated) + (line.slip ? " (a slip)" : "")) : null));
    return el("div", { class: "outcomes" },
      el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "What was read from this conversation" },
        el("table", {}, el("thead", {}, el("tr", {}, heads.map((head, n) => el("th", { scope: "col", class: n > 1 ? "num" : null }, head)))), el("tbody", {}, rows))),
      talk.failure ? el("p", { class: "reason" }, "Ended early: " + talk.failure) : null,
      talk.faults.map((fault) => el("p", { class: "reason" }, "Could not be read: " + fault)));
  }

  function turnOf(talk, turn, number, methods) {
    const id = "turn-" + turn.id;
    const about = turn.position && talk.about === "item" ? " · Image " + turn.position : "";
    return el("article", { class: "turn", id, tabindex: "-1", "aria-labelledby": "head-" + turn.id },
      el("header", {},
        el("h4", { id: "head-" + turn.id }, number + ". " + turn.name + about),
        turn.marks.map((mark) => el("span", { class: "flag" }, mark)),
        el("a", { class: "permalink", href: "#" + id, "aria-label": "Link to turn " + number }, "#")),
      el("div", { class: "sides" },
        el("div", {},
          el("p", { class: "speaker" }, turn.marks.some((mark) => mark.startsWith("repair")) ? "Asked again" : "Asked"),
          turn.pictures.length ? el("div", { class: "shown" }, turn.pictures.map((each) => shown(talk, turn, each, methods))) : null,
          el("p", { class: "said asked" }, data("words")[turn.question])),
        el("div", {},
          el("p", { class: "speaker" }, "Judge"),
          el("p", { class: "said answered" }, turn.reply.map(piece)),
          turn.refusal ? el("p", { class: "said refusal" }, turn.refusal) : null,
          turn.reasoning ? el("details", {}, el("summary", {}, "Reasoning (never read for scores)"), el("p", { class: "said asked" }, turn.reasoning)) : null,
          turn.facts ? el("p", { class: "caption" }, turn.facts) : null)));
  }

  function piece(part) {
    if (typeof part === "string") return part;
    const [text, read, counts] = part;
    const label = counts === 0 ? read + ", replaced by a later answer" : read;
    return el("mark", { class: counts === 0 ? "read replaced" : "read", title: label }, text);
  }

  function shown(talk, turn, [kind, number], methods) {
    const edit = kind === "edit";
    const name = edit ? (talk.about === "item" ? "Image " + turn.position : "The edit") : kind + " image";
    const method = edit ? methods[(turn.position || 1) - 1] : "";
    return el("figure", {}, picture(number, name),
      el("figcaption", {}, name, edit ? el("span", { class: "ours" }, " (our note: " + method + ")") : null));
  }

  function step(by) {
    const next = open + by;
    if (next >= 0 && next < core.talks.length) location.hash = "#talk-" + core.talks[next].id;
  }

  // The longest name that fits: names are made of parts, and one may begin like another.
  function owner(name) {
    const parts = name.split("--");
    for (let n = parts.length; n > 0; n -= 1) {
      const number = numbers.get(parts.slice(0, n).join("--"));
      if (number !== undefined) return number;
    }
    return undefined;
  }

  function reveal(name, isTurn) {
    const number = owner(name);
    if (number === undefined) return null;
    show(number);
    return document.getElementById((isTurn ? "turn-" : "talk-") + name);
  }

  tools.addEventListener("change", (event) => {
    if (event.target.name === "run") fillItems();
    if (event.target.name === "subject") fillTalks();
    location.hash = "#talk-" + tools.elements.talk.value;
  });
  tools.addEventListener("submit", (event) => event.preventDefault());
  for (const button of tools.querySelectorAll("[data-step]")) button.addEventListener("click", () => step(Number(button.dataset.step)));
  return { reveal, start: () => { if (core.talks.length) show(0); else place.append(el("p", {}, "This run has no conversations on record.")); } };
})();
