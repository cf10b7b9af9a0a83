"use strict";
// One conversation at a time, as it was played: an outline, the turns, the picture in question.
lmm.conversations = (() => {
  const { core, data, el, tree, picture, figure, options, words, isEdit } = lmm;
  const tools = document.getElementById("talk-tools");
  const place = document.getElementById("talk");
  const numbers = new Map(core.talks.map((talk, number) => [talk.id, number]));
  const FOLDED = 260;
  let open = -1;
  let shown = null;
  let reading = null;

  const run = () => Number(tools.elements.run ? tools.elements.run.value : 0);
  const label = (id) => core.talks[numbers.get(id)].label;

  function unpack(number) {
    const { bundle, id } = core.talks[number];
    return data("talks-" + bundle).find((talk) => talk.id === id);
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

  function turnNamed(id) {
    const number = owner(id);
    return number === undefined ? null : unpack(number).turns.find((turn) => turn.id === id);
  }

  function fillItems() {
    const here = core.talks.filter((talk) => talk.run === run());
    const items = [...new Set(here.map((talk) => talk.item))];
    options(tools.elements.subject, items.map((item) => ["=" + item, item]));
    fillTalks();
  }

  function fillTalks() {
    const item = tools.elements.subject.value.slice(1);
    const here = core.talks.filter((talk) => talk.run === run() && talk.item === item);
    options(tools.elements.talk, here.map((talk) => [talk.id, talk.label]));
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
    tools.elements.find.value = "";
    draw(unpack(number), core.runs[listed.run]);
  }

  function draw(talk, here) {
    const silent = talk.turns.length > 0 && talk.turns.every((turn) => turn.lost);
    shown = { talk, here, silent, methods: talk.order.map((k) => here.methods[k]) };
    const turns = talk.turns.map((turn, n) => turnOf(turn, n + 1));
    const outline = el("nav", { class: "outline", "aria-label": "Turns of this conversation", "data-roving": true },
      el("ol", {}, talk.turns.map((turn, n) => el("li", {}, el("a", { href: "#turn-" + turn.id }, heading(turn, n + 1))))));
    const looked = el("aside", { class: "looked", "aria-label": "The picture in question" });
    place.replaceChildren(el("article", { id: "talk-" + talk.id, "aria-labelledby": "talk-title", tabindex: "-1" },
      el("h3", { id: "talk-title" }, talk.item + ", " + talk.label),
      el("p", { class: "instruction" }, talk.instruction),
      // Said once here; where a part is on record, the turns that are not say so themselves.
      shown.silent
        ? el("p", { class: "warning" }, "What was asked and answered is not in the ledger: only the turns can be listed.") : null,
      outcome(talk, here),
      talk.system ? el("details", { class: "system" }, el("summary", {}, "System message"),
        el("p", { class: "said asked" }, talk.system)) : null,
      el("div", { class: "talk-body" }, outline, el("div", { class: "turns" }, turns), looked)));
    lmm.roving(outline);
    follow(talk, turns, looked);
    lmm.scrollStops();
  }

  function heading(turn, number) {
    const about = turn.position && shown.talk.about === "item" ? " · Image " + turn.position : "";
    return number + ". " + turn.name.replaceAll("_", " ") + about;
  }

  function outcome(talk, here) {
    const trouble = [
      talk.failure ? el("p", { class: "reason" }, "Ended early: " + talk.failure) : null,
      talk.faults.map((fault) => el("p", { class: "reason" }, "Could not be read: " + fault)),
    ];
    if (talk.about === "pair") {
      const order = shown.methods.join(" was shown first, ") + " second.";
      return el("div", { class: "outcomes" }, el("p", { class: "answer" }, el("strong", {}, talk.verdict), " ", order), trouble);
    }
    const factors = here.factors.filter((each) => each.key !== here.overall);
    const stated = talk.read.some((line) => line.stated !== null);
    const heads = ["Image", "Method (our note)", ...factors.map((each) => each.title),
      ...(here.overall ? ["Overall (computed)"] : []), ...(stated ? ["Stated by the judge"] : [])];
    const rows = talk.read.map((line, n) => el("tr", {},
      el("th", { scope: "row" }, "Image " + (n + 1)),
      el("td", { class: "ours" }, shown.methods[n]),
      line.scores.map((score) => el("td", { class: "num" }, figure(score))),
      here.overall ? el("td", { class: "num" }, figure(line.overall, 2)) : null,
      stated ? el("td", { class: line.error ? "num error" : "num" },
        (line.stated === null ? "–" : line.stated) + (line.error ? " (arithmetic error)" : "")) : null));
    return el("details", { class: "outcomes", open: true },
      el("summary", {}, "What was read from it"),
      el("div", { class: "scroll", role: "region", "aria-label": "What was read from this conversation" },
        el("table", {}, el("thead", {}, el("tr", {}, heads.map((head, n) =>
          el("th", { scope: "col", class: n > 1 ? "num" : null }, head)))), el("tbody", {}, rows))),
      trouble);
  }

  // What only sets the stage is folded: no edit shown, nothing read, nothing odd.
  function isBoilerplate(turn, number) {
    return !turn.position && !turn.scored && !turn.marks.length && number < shown.talk.turns.length;
  }

  function turnOf(turn, number) {
    const id = "turn-" + turn.id;
    if (turn.lost) return lostTurn(turn, number, id);
    const folded = isBoilerplate(turn, number);
    return el("details", { class: "turn", id, tabindex: "-1", open: !folded },
      el("summary", {},
        el("span", { class: "turn-name", role: "heading", "aria-level": "4" }, heading(turn, number)),
        turn.marks.map((mark) => el("span", { class: "flag" }, mark)),
        folded ? el("span", { class: "glimpse" }, glimpse(turn)) : null),
      question(turn),
      el("div", { class: "answer-of" },
        el("p", { class: "speaker" }, "Judge",
          turn.raw ? el("button", { type: "button", class: "quiet-button", "aria-pressed": "false",
            click: (event) => verbatim(event.currentTarget, turn) }, "as written") : null,
          el("a", { class: "permalink", href: "#" + id, "aria-label": "Link to turn " + number }, "#")),
        el("div", { class: "prose answered" }, turn.reply.map(tree)),
        turn.refusal ? el("p", { class: "said refusal" }, turn.refusal) : null,
        turn.reasoning ? el("details", {}, el("summary", {}, "Reasoning (never read for scores)"),
          el("p", { class: "said asked" }, turn.reasoning)) : null,
        turn.facts ? el("p", { class: "caption" }, turn.facts) : null));
  }

  // What was said is not on record: only what was shown is left to see.
  function lostTurn(turn, number, id) {
    return el("div", { class: "turn", id, tabindex: "-1" },
      el("p", { class: "turn-name", role: "heading", "aria-level": "4" }, heading(turn, number)),
      shown.silent ? null : turn.marks.map((mark) => el("span", { class: "flag" }, mark)),
      el("div", { class: "shown" }, turn.pictures.map((each) => shownPicture(turn, each))));
  }

  function verbatim(button, turn) {
    const raw = button.getAttribute("aria-pressed") !== "true";
    button.setAttribute("aria-pressed", String(raw));
    const holder = button.closest(".answer-of").querySelector(".answered");
    holder.replaceChildren(...(raw ? [el("pre", { class: "verbatim" }, turn.raw)] : turn.reply.map(tree)));
  }

  const textOf = (node) => (typeof node === "string" ? node : node.slice(2).map(textOf).join(""));

  function glimpse(turn) {
    const text = turn.reply.map(textOf).join(" ");
    return text.length > 90 ? text.slice(0, 89) + "…" : text;
  }

  function question(turn) {
    const text = data("texts")[turn.question];
    const again = turn.marks.some((mark) => mark.startsWith("repair"));
    const asked = again ? "Asked again" : "Asked";
    const images = turn.pictures.map((each) => shownPicture(turn, each));
    const inside = images.length ? el("div", { class: "shown" }, images) : null;
    if (text.length <= FOLDED) {
      return el("div", { class: "question" }, el("p", { class: "speaker" }, asked), inside,
        el("p", { class: "said asked" }, text));
    }
    return el("div", { class: "question" }, el("p", { class: "speaker" }, asked), inside,
      el("details", { class: "long" }, el("summary", {}, text.slice(0, 140) + "…"),
        el("p", { class: "said asked" }, text)));
  }

  function shownPicture(turn, [kind, number]) {
    const edit = isEdit(kind);
    const place = { first: 1, second: 2 }[kind] || turn.position || 1;
    const own = { item: "Image " + place, edit: "The edit", pair: words(kind) + " edit" };
    const name = edit ? own[shown.talk.about] : words(kind) + " image";
    const method = edit ? shown.methods[place - 1] : "";
    return el("figure", {}, picture(number, name),
      el("figcaption", {}, name, edit ? el("span", { class: "ours" }, " (our note: " + method + ")") : null));
  }

  // The picture the judge speaks of stays in view while its turn is read.
  function follow(talk, turns, looked) {
    if (reading) reading.disconnect();
    const given = talk.turns.flatMap((turn) => turn.pictures.filter(([kind]) => !isEdit(kind)));
    const source = given.find(([kind]) => kind === "source") || given[0];
    const seen = new Map();
    for (const turn of talk.turns) {
      const edit = turn.pictures.find(([kind]) => kind === "edit");
      if (edit && turn.position && !seen.has(turn.position)) seen.set(turn.position, [turn, edit]);
    }
    const look = (turn) => {
      const edits = turn.pictures.filter(([kind]) => isEdit(kind));
      const pictures = edits.map((each) => shownPicture(turn, each));
      // Where all are scored side by side, all are in question.
      if (!edits.length && turn.scored && seen.size > 1) {
        pictures.push(el("div", { class: "all" }, [...seen.values()].map((each) => shownPicture(...each))));
      }
      if (source) pictures.push(shownPicture(turn, source));
      looked.replaceChildren(...pictures);
    };
    reading = new IntersectionObserver((seen) => {
      for (const each of seen) {
        if (each.isIntersecting) look(talk.turns[turns.indexOf(each.target)]);
      }
    }, { rootMargin: "-25% 0px -65% 0px" });
    for (const turn of turns) reading.observe(turn);
    if (talk.turns.length) look(talk.turns[0]);
  }

  // Find words within the conversation: turns without them step aside.
  function search() {
    const wanted = tools.elements.find.value.trim().toLowerCase();
    if (window.CSS && CSS.highlights) CSS.highlights.delete("found");
    const ranges = [];
    let hits = 0;
    for (const turn of place.querySelectorAll(".turn")) {
      const has = wanted !== "" && turn.textContent.toLowerCase().includes(wanted);
      turn.hidden = wanted !== "" && !has;
      if (!has) continue;
      turn.open = true;
      hits += 1;
      const walker = document.createTreeWalker(turn, NodeFilter.SHOW_TEXT);
      for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        const at = node.data.toLowerCase().indexOf(wanted);
        if (at < 0) continue;
        const range = new Range();
        range.setStart(node, at);
        range.setEnd(node, at + wanted.length);
        ranges.push(range);
        const folded = node.parentElement.closest("details");
        if (folded) folded.open = true;
      }
    }
    if (ranges.length && window.Highlight) CSS.highlights.set("found", new Highlight(...ranges));
    const many = hits + (hits === 1 ? " turn" : " turns");
    document.getElementById("talk-found").textContent = wanted ? many : "";
  }

  function fold(at) {
    for (const turn of place.querySelectorAll(".turn")) turn.open = at;
  }

  function step(by) {
    const next = open + by;
    if (next >= 0 && next < core.talks.length) location.hash = "#talk-" + core.talks[next].id;
  }

  function reveal(name, isTurn) {
    const number = owner(name);
    if (number === undefined) return null;
    show(number);
    const found = document.getElementById((isTurn ? "turn-" : "talk-") + name);
    if (found && isTurn) {
      found.hidden = false;
      found.open = true;
    }
    return found;
  }

  tools.addEventListener("change", (event) => {
    if (event.target.name === "find") return;
    if (event.target.name === "run") fillItems();
    if (event.target.name === "subject") fillTalks();
    location.hash = "#talk-" + tools.elements.talk.value;
  });
  tools.elements.find.addEventListener("input", search);
  tools.addEventListener("submit", (event) => event.preventDefault());
  for (const button of tools.querySelectorAll("[data-step]")) {
    button.addEventListener("click", () => step(Number(button.dataset.step)));
  }
  for (const button of tools.querySelectorAll("[data-fold]")) {
    button.addEventListener("click", () => fold(button.dataset.fold === "open"));
  }

  function start() {
    if (core.talks.length) show(0);
    else place.append(el("p", {}, "This run has no conversations on record."));
  }
  return { reveal, label, start, turn: turnNamed, talk: (id) => unpack(numbers.get(id)) };
})();
