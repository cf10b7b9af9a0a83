import { startTheme } from "./theme.js";
import { Viewer } from "./rate_viewer.js";
import { BrowserStore, Refused, ServerStore, applyAnswer, missingCells } from "./rate_store.js";

const find = (id) => document.getElementById(id);
const sections = ["intro", "screen", "feedback", "thanks"];
const choiceWords = { A: "A is better", B: "B is better", tie: "Equally good", bad: "Both are bad" };
const choiceKeys = { A: "1", B: "2", tie: "3", bad: "4" };

function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === "class") made.className = value;
    else if (name.startsWith("aria-") || name === "role" || name === "for") made.setAttribute(name, value);
    else if (name.startsWith("data-")) made.setAttribute(name, value);
    else made[name] = value;
  }
  made.append(...children);
  return made;
}

class RatingApp {
  constructor() {
    this.undoable = [];
    this.changes = 0;
    this.leaving = false;
    this.at = 0;
    this.cell = { letter: "A", factor: 0 };
    this.viewer = new Viewer(find("screen"));
    this.openedAt = performance.now();
    this.listen();
  }

  // Start

  async start() {
    const embedded = find("data");
    try {
      if (embedded) await this.startStatic(JSON.parse(embedded.textContent));
      else await this.startWith(new ServerStore(...this.ears()));
    } catch (error) {
      this.trouble(error);
    }
  }

  // What a store tells: how saving is going, and what the rater must know.
  ears() {
    return [(what) => this.tell(what), (text) => this.trouble(new Error(text))];
  }

  async startStatic(data) {
    const wanted = new URLSearchParams(location.search).get("rater") || "";
    if (Object.hasOwn(data.raters, wanted)) {
      await this.startWith(new BrowserStore(...this.ears(), data, wanted));
      return;
    }
    this.state = { study: data.study };
    this.listFactors();
    find("number-ask").hidden = false;
    this.show("intro");
    find("begin").onclick = () => {
      const number = find("number").value.trim();
      if (Object.hasOwn(data.raters, number)) location.search = `?rater=${number}`;
      else this.trouble(new Error("There is no such rater number. It is in the link you were given."));
    };
  }

  async startWith(store) {
    this.store = store;
    this.take(await store.load());
    this.listFactors();
    this.at = this.firstOpen();
    this.route();
    find("download-now").hidden = !(store instanceof BrowserStore);
  }

  take(state) {
    this.state = state;
    this.study = state.study;
  }

  firstOpen() {
    const open = this.state.screens.findIndex((each) => !each.done);
    return open < 0 ? this.state.screens.length : open;
  }

  route() {
    if (!this.state.consented) this.showIntro();
    else if (this.at >= this.state.screens.length) this.showThanks();
    else this.showScreen();
  }

  show(section) {
    for (const each of sections) find(each).hidden = each !== section;
    const rating = section === "screen";
    const lasting = this.store instanceof BrowserStore && !this.store.keeps;
    if (!lasting) find("trouble").hidden = true;
    find("pad").hidden = !rating;
    find("help-open").hidden = section === "intro";
    find("progress").hidden = section === "intro" || section === "thanks";
    if (!rating) scrollTo(0, 0);
  }

  listFactors() {
    for (const list of [find("factor-list"), find("help-factors")]) {
      list.replaceChildren(
        ...this.state.study.factors.flatMap((factor) => [
          element("dt", {}, `${factor.name} `, element("span", {}, factor.scale)),
          element("dd", {}, factor.definition),
        ]),
      );
    }
  }

  showIntro() {
    this.show("intro");
    find("begin").onclick = () =>
      this.guarded(async () => {
        this.take(await this.store.consent());
        this.at = this.firstOpen();
        this.route();
      });
  }

  // One screen

  get screen() {
    return this.state.screens[this.at];
  }

  get pair() {
    return this.study.covers === "pair";
  }

  showScreen() {
    const screen = this.screen;
    this.show("screen");
    this.viewer.fit();
    this.startTimer(screen.seconds);
    find("task").textContent = screen.task;
    find("practice-mark").hidden = !screen.practice;
    find("instruction").textContent = screen.instruction;
    this.drawGiven(screen);
    this.drawEdits(screen);
    find("comment").value = screen.answers.comment;
    const lacking = missingCells(this.study, screen);
    this.goTo(...(lacking[0] || [screen.slots[0].letter, ""]), false);
    this.drawProgress();
    this.refresh();
    this.preload();
    scrollTo(0, 0);
    find("instruction").focus({ preventScroll: true });
  }

  drawGiven(screen) {
    const figures = screen.given.map((each) =>
      element(
        "figure",
        {},
        this.frame(each.picture, each.label),
        element("figcaption", {}, each.label),
      ),
    );
    find("given").replaceChildren(...figures);
    find("given").classList.toggle("several", figures.length > 1);
  }

  frame(picture, alt, under) {
    const frame = element("div", { class: "frame" });
    const image = element("img", { src: this.store.picture(picture), alt, draggable: false });
    image.onload = () => this.shape(image);
    frame.append(image);
    if (under) {
      const source = element("img", {
        class: "under",
        src: this.store.picture(under),
        alt: "",
        draggable: false,
      });
      frame.append(source);
    }
    return frame;
  }

  // Every frame has the shape of the source, so that all pictures are the same size.
  shape(image) {
    const first = find("given").querySelector("img");
    if (image !== first || !image.naturalWidth) return;
    const ratio = Math.min(2.2, Math.max(0.55, image.naturalWidth / image.naturalHeight));
    find("screen").style.setProperty("--shape", ratio.toFixed(4));
  }

  drawEdits(screen) {
    const source = screen.given[0].picture;
    const cards = screen.slots.map((slot) => this.card(slot, source));
    find("edits").replaceChildren(...cards);
    find("edits").className = `edits ${["", "one", "two"][cards.length] || ""}`;
  }

  card(slot, source) {
    const name = `Edit ${slot.letter}`;
    const cells = this.pair ? [] : this.study.factors.map((factor) => this.cellOf(slot, factor));
    const unable = element(
      "button",
      { type: "button", class: "quiet", "aria-label": `Cannot judge ${name}` },
      "Cannot judge",
    );
    unable.onclick = () => this.askUnable(slot.letter);
    return element(
      "article",
      { class: "card", "data-letter": slot.letter, "aria-label": name },
      this.frame(slot.picture, name, source),
      element(
        "header",
        {},
        element("h2", {}, slot.letter),
        element("span", { class: "why" }),
        unable,
      ),
      element("ul", { class: "cells" }, ...cells.map((cell) => element("li", {}, cell))),
    );
  }

  cellOf(slot, factor) {
    const cell = element(
      "button",
      {
        type: "button",
        class: "cell",
        tabIndex: -1,
        "data-letter": slot.letter,
        "data-factor": factor.key,
      },
      element("span", {}, factor.name),
      element("span", { class: "value" }),
    );
    cell.onclick = () => this.goTo(slot.letter, factor.key);
    cell.onfocus = () => this.select(slot.letter, factor.key);
    return cell;
  }

  preload() {
    const next = this.state.screens[this.at + 1];
    if (!next) return;
    for (const each of [...next.given, ...next.slots]) {
      new Image().src = this.store.picture(each.picture);
    }
  }

  // The current cell

  goTo(letter, factorKey, focus = true) {
    this.select(letter, factorKey);
    const cell = this.currentCell();
    if (cell && focus) {
      cell.focus({ preventScroll: true });
      // A lone edit may have more factors than fit on the screen; of several, the whole card matters.
      const alone = this.screen.slots.length === 1;
      (alone ? cell : cell.closest(".card")).scrollIntoView({ block: "nearest" });
    }
  }

  select(letter, factorKey) {
    const factor = this.study.factors.findIndex((each) => each.key === factorKey);
    this.cell = { letter: letter || "A", factor: Math.max(0, factor) };
    this.refresh();
  }

  currentCell() {
    if (this.pair) return null;
    const { letter } = this.cell;
    const key = this.factor.key;
    return find("edits").querySelector(`.cell[data-letter="${letter}"][data-factor="${key}"]`);
  }

  get factor() {
    return this.study.factors[this.cell.factor];
  }

  scoreAt(letter, key) {
    const score = (this.screen.answers.scores[letter] || {})[key];
    return score === undefined ? null : score;
  }

  move(columns, rows) {
    if (this.pair) return;
    const letters = this.screen.slots.map((slot) => slot.letter);
    const count = letters.length;
    const column = (letters.indexOf(this.cell.letter) + columns + count) % count;
    const last = this.study.factors.length - 1;
    const row = Math.min(last, Math.max(0, this.cell.factor + rows));
    this.goTo(letters[column], this.study.factors[row].key);
  }

  // Drawing what is known

  refresh() {
    const screen = this.screen;
    if (!screen) return;
    for (const card of find("edits").children) {
      const letter = card.dataset.letter;
      const unable = screen.answers.unable[letter] || "";
      card.classList.toggle("unable", Boolean(unable));
      card.classList.toggle("current", !this.pair && letter === this.cell.letter);
      card.classList.toggle("chosen", this.pair && screen.answers.choice === letter);
      card.querySelector(".why").textContent = unable;
    }
    for (const cell of find("edits").querySelectorAll(".cell")) this.refreshCell(cell);
    this.drawPad();
    find("undo").disabled = this.undoable.length === 0;
    find("back").disabled = this.at === 0;
    const lacking = missingCells(this.study, screen).length;
    find("next").classList.toggle("main", lacking === 0);
    find("next").title = lacking ? `${lacking} still to answer` : "";
    const commented = screen.answers.comment ? "Comment ✓" : "Comment";
    find("comment-open").textContent = commented;
  }

  refreshCell(cell) {
    const { letter, factor } = cell.dataset;
    const score = this.scoreAt(letter, factor);
    const current = letter === this.cell.letter && factor === this.factor.key;
    const unable = this.screen.answers.unable[letter];
    const known = this.study.factors.find((each) => each.key === factor);
    cell.tabIndex = current ? 0 : -1;
    if (current) cell.setAttribute("aria-current", "true");
    else cell.removeAttribute("aria-current");
    cell.classList.toggle("scored", score !== null && !unable);
    cell.lastChild.textContent = unable ? "–" : score ?? "";
    const said = unable ? "cannot judge" : score ?? "not scored";
    cell.setAttribute("aria-label", `${letter}, ${known.name}: ${said}`);
  }

  drawPad() {
    if (this.pair) {
      find("pad-title").textContent = "Which edit is better?";
      find("pad-definition").textContent = this.study.factors.map((each) => each.name).join(", ");
      find("exact-form").hidden = true;
      find("levels").classList.add("words");
      const levels = Object.keys(choiceWords).map((value) => ({ value, key: choiceKeys[value] }));
      this.drawLevels(levels, this.screen.answers.choice, (value) => choiceWords[value]);
      return;
    }
    const factor = this.factor;
    const score = this.scoreAt(this.cell.letter, factor.key);
    find("pad-title").textContent = `${this.cell.letter} · ${factor.name}`;
    find("pad-definition").textContent = factor.definition || factor.scale;
    find("exact-form").hidden = !factor.exact;
    const odd = score !== null && !factor.levels.some((level) => level.value === score);
    if (document.activeElement !== find("exact")) find("exact").value = odd ? score : "";
    this.drawLevels(factor.levels, score, (value) => value);
  }

  drawLevels(levels, chosen, words) {
    const drawn = levels.map((level) => {
      const hint = level.key && level.key !== level.value ? level.key : "";
      const button = element(
        "button",
        { type: "button", "aria-pressed": String(level.value === chosen) },
        words(level.value),
      );
      if (hint) {
        button.append(element("small", { "aria-hidden": "true" }, `key ${hint}`));
      }
      button.onclick = () => this.press(level.value);
      return button;
    });
    find("levels").classList.toggle("few", levels.length < 9);
    find("levels").replaceChildren(...drawn);
  }

  drawProgress() {
    const done = this.state.screens.filter((each) => each.done);
    const total = this.state.total;
    find("progress-bar").max = Math.max(1, total);
    find("progress-bar").value = done.length;
    const times = done.filter((each) => !each.practice).map((each) => each.seconds);
    times.sort((a, b) => a - b);
    const middle = times[Math.floor(times.length / 2)];
    const minutes = Math.max(1, Math.round(((total - done.length) * middle) / 60));
    const left = times.length > 1 ? ` · about ${minutes} min left` : "";
    find("progress-text").textContent = `${Math.min(this.at + 1, total)} of ${total}${left}`;
  }

  // Answers

  press(value) {
    if (this.pair) {
      this.answer({ kind: "choice", slot: "", factor: "", value });
      find("next").focus({ preventScroll: true });
      return;
    }
    this.score(value);
  }

  score(value) {
    const { letter } = this.cell;
    const factor = this.factor;
    if (this.screen.answers.unable[letter]) {
      this.answer({ kind: "unable", slot: letter, factor: "", value: null });
    }
    this.answer({ kind: "score", slot: letter, factor: factor.key, value });
    if (value !== null) this.goOn();
  }

  // To the next cell without a score: along the factor first, as edits are compared side by side.
  goOn() {
    const lacking = missingCells(this.study, this.screen);
    if (!lacking.length) {
      find("next").focus({ preventScroll: true });
      return;
    }
    const letters = this.screen.slots.map((slot) => slot.letter);
    const keys = this.study.factors.map((each) => each.key);
    const place = ([letter, key]) => keys.indexOf(key) * letters.length + letters.indexOf(letter);
    const here = place([this.cell.letter, this.factor.key]);
    const after = lacking.find((cell) => place(cell) > here);
    this.goTo(...(after || lacking[0]));
  }

  valueNow(answer) {
    const told = this.screen.answers;
    if (answer.kind === "score") return this.scoreAt(answer.slot, answer.factor);
    if (answer.kind === "unable") return told.unable[answer.slot] || null;
    return answer.kind === "choice" ? told.choice : told.comment;
  }

  answer(answer, { undoing = false } = {}) {
    const screen = this.screen;
    const before = this.valueNow(answer);
    if (before === answer.value || this.leaving) return;
    this.changes += 1;
    this.say("");
    if (!undoing) this.undoable.push({ ...answer, at: this.at, value: before });
    const sent = { ...answer, screen: screen.id, seconds: this.seconds() };
    applyAnswer(screen, sent);
    screen.sent = (screen.sent ?? screen.revision) + 1;
    this.refresh();
    this.guarded(async () => {
      const saved = await this.store.save(sent);
      await this.notice(screen, saved);
    });
  }

  // More answers than this window has sent: another window is open on the same screen.
  async notice(screen, saved) {
    // The reply is that to the last of all answers waiting; they may be about another screen.
    if (!saved || saved.screen !== screen.id || this.store.unsent?.length) return;
    if (saved.revision > screen.sent) {
      screen.sent = saved.revision;
      await this.reload("This screen is also open in another window. Here is what is saved.");
    }
  }

  async reload(text) {
    const current = this.screen && this.screen.id;
    let state = null;
    let before = -1;
    // What is answered while the state is on its way would be missing from it: ask again.
    while (before !== this.changes) {
      before = this.changes;
      state = await this.store.load();
    }
    this.take(state);
    const at = this.state.screens.findIndex((each) => each.id === current);
    this.at = at < 0 ? this.firstOpen() : at;
    if (this.at >= this.state.screens.length) this.route();
    else this.refresh();
    this.say(text);
  }

  undo() {
    if (this.leaving) return;
    const last = this.undoable.pop();
    if (!last) return;
    if (last.at !== this.at) {
      this.at = last.at;
      this.showScreen();
    }
    if (last.kind === "score") this.goTo(last.slot, last.factor);
    this.answer(last, { undoing: true });
    this.refresh();
  }

  async next() {
    const screen = this.screen;
    if (!screen || this.leaving) return;
    const lacking = missingCells(this.study, screen);
    if (lacking.length) {
      this.say(this.pair ? "Please choose one." : `${lacking.length} still to answer.`);
      if (!this.pair) this.goTo(...lacking[0]);
      return;
    }
    this.say("");
    // Keys pressed while the next screen is on its way must not change this one.
    this.leaving = true;
    await this.guarded(async () => {
      const first = !screen.done;
      this.take(await this.store.next(screen, this.seconds()));
      const closed = this.state.screens[this.at];
      this.at += 1;
      if (first && closed.feedback) this.showFeedback(closed.feedback);
      else this.route();
    });
    this.leaving = false;
  }

  back() {
    if (this.at === 0 || this.leaving) return;
    this.at -= 1;
    this.showScreen();
  }

  showFeedback(feedback) {
    this.show("feedback");
    find("feedback-good").hidden = feedback.remarks.length > 0;
    find("feedback-remarks").replaceChildren(
      ...feedback.remarks.map((remark) => element("li", {}, remark)),
    );
    find("feedback-text").textContent = feedback.text;
    find("feedback-title").focus({ preventScroll: true });
    find("feedback-on").onclick = () => this.route();
  }

  showThanks() {
    this.show("thanks");
    const { code, rater, screens } = this.state;
    if (!screens.length) {
      find("thanks-text").textContent =
        "Meanwhile, every edit has been rated by enough raters, so there is nothing left to do.";
    }
    find("code-line").hidden = !code;
    find("code").textContent = code;
    find("rater-name").textContent = rater;
    find("review").hidden = !screens.length;
    const keeps = this.store instanceof BrowserStore;
    find("download-line").hidden = !keeps;
    if (keeps && this.store.posted) {
      find("download-hint").textContent = "They have been sent; the file is for you to keep.";
    } else if (keeps) {
      find("thanks-text").textContent = "One step is left: your answers are only in this browser.";
    }
    find("thanks-title").focus({ preventScroll: true });
  }

  download() {
    const file = new Blob([this.store.handIn()], { type: "application/json" });
    const link = element("a", {
      href: URL.createObjectURL(file),
      download: `ratings-${this.state.rater}.json`,
    });
    link.click();
    this.store.handedIn = true;
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  // Cannot judge; comment

  askUnable(letter) {
    const dialog = find("unable-dialog");
    const known = this.screen.answers.unable[letter] || "";
    find("unable-title").textContent = `Cannot judge edit ${letter}`;
    find("unable-clear").hidden = !known;
    const choices = this.study.reasons.map((reason, place) =>
      element(
        "label",
        {},
        element("input", {
          type: "radio",
          name: "reason",
          value: reason,
          checked: known ? known.startsWith(reason) : place === 0,
        }),
        reason,
      ),
    );
    find("unable-reasons").replaceChildren(find("unable-reasons").firstElementChild, ...choices);
    find("unable-text").value = "";
    dialog.onclose = () => {
      if (dialog.returnValue === "save") {
        const reason = dialog.querySelector("input:checked")?.value || "";
        const more = find("unable-text").value.trim();
        const value = more ? `${reason}: ${more}` : reason;
        this.answer({ kind: "unable", slot: letter, factor: "", value });
        this.goOn();
      } else if (dialog.returnValue === "clear") {
        this.answer({ kind: "unable", slot: letter, factor: "", value: null });
      }
    };
    dialog.returnValue = "";
    dialog.showModal();
  }

  askComment() {
    const dialog = find("comment-dialog");
    const limit = this.study.commentLimit;
    find("comment").maxLength = limit;
    find("comment-limit").textContent = `At most ${limit.toLocaleString("en")} characters.`;
    find("comment").value = this.screen.answers.comment;
    dialog.onclose = () => {
      if (dialog.returnValue !== "save") return;
      const value = find("comment").value.trim();
      this.answer({ kind: "comment", slot: "", factor: "", value });
    };
    dialog.returnValue = "";
    dialog.showModal();
  }

  // Time on a screen, counted while the window is in view

  startTimer(before) {
    this.counted = before * 1000;
    this.since = document.visibilityState === "visible" ? performance.now() : null;
  }

  seconds() {
    const running = this.since === null ? 0 : performance.now() - this.since;
    return Math.round((this.counted + running) / 100) / 10;
  }

  visibility() {
    if (document.visibilityState === "visible") {
      this.since ??= performance.now();
    } else if (this.since) {
      this.counted += performance.now() - this.since;
      this.since = null;
    }
  }

  // Telling

  tell(what) {
    const words = {
      saving: "Saving …",
      loading: "Loading …",
      saved: "Saved",
      waiting: "Not saved yet; trying again …",
      unsent: "Kept here; could not be sent",
      unkept: "Only in this window",
      refused: "Not saved",
    };
    find("saved").textContent = words[what];
    find("saved").classList.toggle("waiting", !["saving", "loading", "saved"].includes(what));
  }

  // Apart from the state of saving: an answer saved a moment later must not wipe out the remark.
  say(text) {
    find("remark").textContent = text;
  }

  // Stays until another page is shown: other answers are saved a moment later.
  trouble(error) {
    find("trouble").textContent = error.message;
    find("trouble").hidden = false;
  }

  async guarded(work) {
    try {
      await work();
    } catch (error) {
      this.trouble(error);
      this.tell("refused");
      if (error instanceof Refused && this.store instanceof ServerStore) {
        try {
          await this.reload("");
        } catch (again) {
          this.trouble(again);
        }
      }
    }
  }

  // Keys and buttons

  listen() {
    startTheme(find("theme"));
    const clicks = {
      "zoom-in": () => this.viewer.by(1.5),
      "zoom-out": () => this.viewer.by(1 / 1.5),
      "zoom-fit": () => this.viewer.fit(),
      peek: () => this.togglePeek(),
      undo: () => this.undo(),
      back: () => this.back(),
      next: () => this.next(),
      "comment-open": () => this.askComment(),
      "help-open": () => find("help-dialog").showModal(),
      download: () => this.download(),
      "download-now": () => this.download(),
      review: () => {
        this.at = 0;
        this.showScreen();
      },
      "copy-code": () => this.copyCode(),
    };
    for (const [id, act] of Object.entries(clicks)) find(id).addEventListener("click", act);
    find("exact-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.takeExact();
    });
    document.addEventListener("keydown", (event) => this.keyDown(event));
    document.addEventListener("keyup", (event) => {
      if (event.key.toLowerCase() === "s") this.setPeek(false);
    });
    // A key let go of in another window is never heard of here.
    addEventListener("blur", () => this.setPeek(false));
    document.addEventListener("visibilitychange", () => this.visibility());
    addEventListener("beforeunload", (event) => {
      if (this.store?.unsent?.length || this.store?.atRisk) event.preventDefault();
    });
  }

  async copyCode() {
    try {
      await navigator.clipboard.writeText(find("code").textContent);
      this.say("Copied");
    } catch {
      // Browsers give a page without TLS no clipboard.
      getSelection().selectAllChildren(find("code"));
      this.say("Selected; copy it with Ctrl C");
    }
  }

  togglePeek() {
    this.setPeek(find("peek").getAttribute("aria-pressed") !== "true");
  }

  setPeek(on) {
    find("peek").setAttribute("aria-pressed", String(on));
    this.viewer.peek(on);
  }

  takeExact() {
    const text = find("exact").value.trim().replace(",", ".");
    const factor = this.factor;
    const number = Number(text);
    const low = Number(factor.low);
    const high = Number(factor.high);
    const good = /^-?\d+(\.\d{1,6})?$/.test(text) && low <= number && number <= high;
    const whole = !factor.whole || Number.isInteger(number);
    find("exact-form").classList.toggle("bad", !(good && whole));
    if (!good || !whole) {
      this.say(`Please give a number on the scale ${factor.scale}.`);
      return;
    }
    find("exact").blur();
    this.score(String(number));
  }

  keyDown(event) {
    if (this.leaving || find("screen").hidden || document.querySelector("dialog[open]")) return;
    if (event.target.matches("input, textarea, select")) {
      if (event.key === "Escape") this.currentCell()?.focus();
      return;
    }
    const command = event.ctrlKey || event.metaKey;
    if (command && event.key.toLowerCase() === "z") {
      event.preventDefault();
      this.undo();
      return;
    }
    if (command || event.altKey) return;
    // A key that is held down must not score one edit after the other.
    if (event.repeat && !event.key.startsWith("Arrow")) return;
    const act = this.actFor(event);
    if (act) {
      event.preventDefault();
      act();
    }
  }

  actFor(event) {
    if (/^\d$/.test(event.key)) return () => this.digit(event.key);
    if (event.key === "Enter" && event.target.matches("button:not(.cell)")) return null;
    const acts = {
      Enter: () => this.enter(),
      ArrowLeft: () => this.move(-1, 0),
      ArrowRight: () => this.move(1, 0),
      ArrowUp: () => this.move(0, -1),
      ArrowDown: () => this.move(0, 1),
      PageDown: () => this.next(),
      PageUp: () => this.back(),
      Delete: () => this.clear(),
      Backspace: () => this.clear(),
      ".": () => this.exactly(),
      ",": () => this.exactly(),
      "+": () => this.viewer.by(1.5),
      "=": () => this.viewer.by(1.5),
      "-": () => this.viewer.by(1 / 1.5),
      f: () => this.viewer.fit(),
      s: () => this.setPeek(true),
      u: () => this.undo(),
      x: () => this.askUnable(this.cell.letter),
      c: () => this.askComment(),
      "?": () => find("help-dialog").showModal(),
    };
    return acts[event.key] || acts[event.key.toLowerCase()];
  }

  digit(key) {
    if (this.pair) {
      const value = Object.keys(choiceKeys).find((each) => choiceKeys[each] === key);
      if (value) this.press(value);
      return;
    }
    const level = this.factor.levels.find((each) => each.key === key);
    if (level) {
      this.press(level.value);
    } else if (this.factor.exact) {
      find("exact").value = key;
      find("exact").focus();
    }
  }

  enter() {
    if (missingCells(this.study, this.screen).length) this.goOn();
    else this.next();
  }

  exactly() {
    if (this.pair || !this.factor.exact) return;
    find("exact").focus();
    find("exact").select();
  }

  clear() {
    if (this.pair) this.answer({ kind: "choice", slot: "", factor: "", value: null });
    else this.score(null);
  }
}

new RatingApp().start();
