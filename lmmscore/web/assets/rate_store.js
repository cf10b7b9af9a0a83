// Where answers go: to the server they came from, or into this browser. Both have the same methods.

export class Refused extends Error {
  constructor(text, code) {
    super(text);
    this.code = code;
  }
}

export function newNonce() {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

// What is lacking before a screen can be closed, as cells: [letter, factor key].
export function missingCells(study, screen) {
  const told = screen.answers;
  if (study.covers === "pair") {
    const unable = Object.values(told.unable).some(Boolean);
    return told.choice || unable ? [] : [["", ""]];
  }
  const lacking = [];
  for (const factor of study.factors) {
    for (const slot of screen.slots) {
      const score = (told.scores[slot.letter] || {})[factor.key];
      if (!told.unable[slot.letter] && (score === undefined || score === null)) {
        lacking.push([slot.letter, factor.key]);
      }
    }
  }
  return lacking;
}

// Put an answer into a screen's answers, as the server does.
export function applyAnswer(screen, answer) {
  const told = screen.answers;
  if (answer.kind === "score") {
    (told.scores[answer.slot] ||= {})[answer.factor] = answer.value;
  } else if (answer.kind === "unable") {
    told.unable[answer.slot] = answer.value;
  } else if (answer.kind === "choice") {
    told.choice = answer.value;
  } else {
    told.comment = answer.value || "";
  }
}

const TIMEOUT_MS = 30000;

export class ServerStore {
  constructor(tell, warn) {
    this.tell = tell;
    this.warn = warn;
    this.prefix = `lmmscore-unsent:${location.pathname}:`;
    this.key = `${this.prefix}${newNonce()}`;
    this.unsent = this.remembered();
    this.sending = null;
  }

  picture(name) {
    return `image/${name}`;
  }

  // What could not be sent comes first; if some of it is refused, the rest still counts.
  async load() {
    while (this.unsent.length) {
      try {
        await this.flush();
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        this.warn(error.message);
      }
    }
    return this.patiently("state");
  }

  consent() {
    return this.patiently("consent", {});
  }

  // Never lost: kept here until the server says that it is on the disk.
  save(answer) {
    this.unsent.push({ ...answer, nonce: newNonce(), at: Date.now() });
    this.remember();
    return this.flush();
  }

  async next(screen, seconds) {
    await this.flush();
    this.tell("loading");
    const state = await this.patiently("next", { screen: screen.id, seconds });
    this.tell("saved");
    return state;
  }

  flush() {
    if (!this.sending) {
      this.sending = this.sendAll().finally(() => {
        this.sending = null;
      });
    }
    return this.sending;
  }

  async sendAll() {
    let answer = null;
    while (this.unsent.length) {
      this.tell("saving");
      const first = this.unsent[0];
      try {
        answer = await this.patiently("answer", first);
      } finally {
        // Refused or saved: either way it has been dealt with, and the rater was told.
        this.unsent.shift();
        this.remember();
      }
    }
    if (answer) this.tell("saved");
    return answer;
  }

  // Try until there is an answer; a server that is being restarted is away for a moment only.
  async patiently(path, body) {
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await this.once(path, body);
      } catch (error) {
        if (error instanceof Refused) throw error;
        this.tell("waiting");
        const pause = Math.min(10000, 400 * 2 ** attempt);
        await new Promise((resume) => setTimeout(resume, pause));
      }
    }
  }

  async once(path, body) {
    const asked = body === undefined
      ? { headers: { Accept: "application/json" } }
      : {
          method: "POST",
          headers: { "Content-Type": "application/json", Accept: "application/json" },
          body: JSON.stringify(body),
        };
    // A server that never answers is asked again; the nonce makes sure that nothing counts twice.
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const response = await fetch(path, { ...asked, cache: "no-store", signal });
    if (response.status >= 500) throw new Error(`status ${response.status}`);
    const found = await response.json();
    if (!response.ok) throw new Refused(found.error, found.code);
    return found;
  }

  remember() {
    try {
      if (this.unsent.length) localStorage.setItem(this.key, JSON.stringify(this.unsent));
      else localStorage.removeItem(this.key);
    } catch {
      // Then closing the window before the server answers loses what it has not answered yet.
    }
  }

  // Also what another window of this rater left behind: sent twice, it is kept once.
  remembered() {
    const found = [];
    try {
      const keys = Object.keys(localStorage).filter((key) => key.startsWith(this.prefix));
      for (const key of keys) {
        found.push(...JSON.parse(localStorage.getItem(key)));
        localStorage.removeItem(key);
      }
      found.sort((a, b) => a.at - b.at);
      localStorage.setItem(this.key, JSON.stringify(found));
    } catch {
      // Nothing is remembered here, or it is not ours.
    }
    return found;
  }
}

// Each change is read, made and written in one transaction: another window may have the same page.
export class BrowserStore {
  constructor(tell, warn, data, number) {
    this.tell = tell;
    this.warn = warn;
    this.data = data;
    this.number = number;
    this.own = data.raters[number];
    this.name = `lmmscore-${data.id}`;
    this.record = { consented: false, screens: {} };
    this.keeps = true;
    this.handedIn = true;
    this.pending = 0;
  }

  picture(name) {
    return `images/${name}.webp`;
  }

  async load() {
    try {
      this.database ||= await this.open();
      this.record = (await this.read()) || this.record;
    } catch {
      this.stopKeeping();
    }
    return this.state();
  }

  async consent() {
    await this.change((record) => {
      record.consented = true;
    });
    return this.state();
  }

  async save(answer) {
    this.tell("saving");
    this.pending += 1;
    await this.change((record) => {
      const kept = keptScreen(record, answer.screen);
      const same = (each) =>
        each.kind === answer.kind && each.slot === answer.slot && each.factor === answer.factor;
      kept.answers = kept.answers.filter((each) => !same(each));
      const { kind, slot, factor, value } = answer;
      kept.answers.push({ kind, slot, factor, value });
      kept.seconds = Math.max(kept.seconds, answer.seconds || 0);
      kept.revision += 1;
      record.posted = false;
    });
    const kept = this.record.screens[answer.screen];
    this.handedIn = false;
    this.pending -= 1;
    // Answers typed quickly are written one after the other: the last of them makes it true.
    if (!this.pending) this.tell(this.keeps ? "saved" : "unkept");
    if (kept.done && this.data.post) await this.post();
    return { screen: answer.screen, revision: kept.revision };
  }

  async next(screen, seconds) {
    if (missingCells(this.data.study, screen).length) {
      throw new Refused("This screen is not fully answered yet.", "incomplete");
    }
    await this.change((record) => {
      const kept = keptScreen(record, screen.id);
      kept.done = true;
      kept.seconds = Math.max(kept.seconds, seconds);
    });
    if (this.data.post) await this.post();
    return this.state();
  }

  get posted() {
    return Boolean(this.record.posted);
  }

  // No storage for this page, or no room in it: then the window is the only place there is.
  stopKeeping() {
    this.keeps = false;
    this.warn(UNKEPT);
  }

  // Whether closing this window would lose answers.
  get atRisk() {
    return !this.keeps && !this.handedIn && !this.posted;
  }

  state() {
    const screens = this.own.screens.map((each) => {
      const kept = this.record.screens[each.id] || newScreen();
      const answers = { scores: {}, unable: {}, choice: null, comment: "" };
      const { done, seconds, revision } = kept;
      const screen = { ...each, answers, done, seconds, revision, feedback: null };
      for (const answer of kept.answers) applyAnswer(screen, answer);
      if (each.practice && done) screen.feedback = this.feedback(each, answers);
      return screen;
    });
    const finished = screens.every((each) => each.done);
    return {
      rater: this.own.name,
      consented: this.record.consented,
      study: this.data.study,
      screens,
      total: screens.length,
      finished,
      code: finished ? this.own.code : "",
    };
  }

  feedback(screen, answers) {
    const remarks = [];
    for (const [letter, factor, low, high] of screen.expect) {
      const score = (answers.scores[letter] || {})[factor];
      if (score === undefined || score === null) continue;
      if (low <= Number(score) && Number(score) <= high) continue;
      const name = this.data.study.factors.find((each) => each.key === factor).name;
      const expected = low === high ? low : `${low} to ${high}`;
      remarks.push(`${letter}, ${name}: you gave ${score}; expected was ${expected}.`);
    }
    return { text: screen.told, remarks };
  }

  // What is handed in: letters and random names only.
  handIn() {
    const screens = Object.entries(this.record.screens);
    return JSON.stringify({
      format: "lmmscore ratings",
      version: 1,
      study: this.data.id,
      rater: this.own.name,
      screens: screens.map(([id, kept]) => ({ id, ...kept })),
    });
  }

  async post() {
    this.tell("saving");
    let sent = false;
    try {
      const body = this.handIn();
      const signal = AbortSignal.timeout(TIMEOUT_MS);
      sent = (await fetch(this.data.post, { method: "POST", body, signal })).ok;
    } catch {
      // Told below; the next finished screen sends everything once more.
    }
    await this.change((record) => {
      record.posted = sent;
    });
    this.tell(sent ? "saved" : "unsent");
  }

  open() {
    return new Promise((resolve, reject) => {
      const request = indexedDB.open(this.name, 1);
      request.onupgradeneeded = () => request.result.createObjectStore("raters");
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error);
    });
  }

  read() {
    return new Promise((resolve, reject) => {
      const request = this.database.transaction("raters").objectStore("raters").get(this.number);
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error);
    });
  }

  async change(make) {
    if (!this.keeps) {
      make(this.record);
      return;
    }
    await new Promise((resolve) => {
      const work = this.database.transaction("raters", "readwrite", { durability: "strict" });
      const raters = work.objectStore("raters");
      const request = raters.get(this.number);
      request.onsuccess = () => {
        this.record = request.result || this.record;
        make(this.record);
        raters.put(this.record, this.number);
      };
      work.oncomplete = () => resolve();
      // A disk without room aborts the transaction and raises no error on it.
      work.onabort = () => {
        this.stopKeeping();
        resolve();
      };
    });
  }
}

const UNKEPT =
  "This browser does not keep the answers of this page: they are in this window only. " +
  "Please do not close or reload it before you have downloaded them (under ?).";

function newScreen() {
  return { answers: [], done: false, seconds: 0, revision: 0 };
}

function keptScreen(record, id) {
  return (record.screens[id] ||= newScreen());
}
