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

export class ServerStore {
  constructor(tell) {
    this.tell = tell;
    this.key = `lmmscore-unsent:${location.pathname}`;
    this.unsent = this.remembered();
    this.sending = null;
  }

  picture(name) {
    return `image/${name}`;
  }

  async load() {
    await this.flush();
    return this.call("state");
  }

  consent() {
    return this.call("consent", {});
  }

  // Never lost: kept here until the server says that it is on the disk.
  save(answer) {
    this.unsent.push({ ...answer, nonce: newNonce() });
    this.remember();
    return this.flush();
  }

  async next(screen, seconds) {
    await this.flush();
    return this.call("next", { screen: screen.id, seconds });
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

  async call(path, body) {
    return this.patiently(path, body);
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
    const response = await fetch(path, { ...asked, cache: "no-store" });
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

  remembered() {
    try {
      return JSON.parse(localStorage.getItem(this.key)) || [];
    } catch {
      return [];
    }
  }
}

export class BrowserStore {
  constructor(tell, data, number) {
    this.tell = tell;
    this.data = data;
    this.number = number;
    this.own = data.raters[number];
    this.name = `lmmscore-${data.id}`;
  }

  picture(name) {
    return `images/${name}.webp`;
  }

  async load() {
    this.database = await this.open();
    this.record = (await this.read()) || { consented: false, screens: {} };
    return this.state();
  }

  async consent() {
    this.record.consented = true;
    await this.write();
    return this.state();
  }

  async save(answer) {
    this.tell("saving");
    const kept = this.kept(answer.screen);
    const same = (each) =>
      each.kind === answer.kind && each.slot === answer.slot && each.factor === answer.factor;
    kept.answers = kept.answers.filter((each) => !same(each));
    kept.answers.push({
      kind: answer.kind,
      slot: answer.slot,
      factor: answer.factor,
      value: answer.value,
    });
    kept.seconds = Math.max(kept.seconds, answer.seconds || 0);
    await this.write();
    this.tell("saved");
    return null;
  }

  async next(screen, seconds) {
    if (missingCells(this.data.study, screen).length) {
      throw new Refused("This screen is not fully answered yet.", "incomplete");
    }
    const kept = this.kept(screen.id);
    kept.done = true;
    kept.seconds = Math.max(kept.seconds, seconds);
    await this.write();
    if (this.data.post) await this.post();
    return this.state();
  }

  kept(id) {
    return (this.record.screens[id] ||= { answers: [], done: false, seconds: 0 });
  }

  state() {
    const screens = this.own.screens.map((each) => {
      const kept = this.record.screens[each.id] || { answers: [], done: false, seconds: 0 };
      const answers = { scores: {}, unable: {}, choice: null, comment: "" };
      const screen = { ...each, answers, done: kept.done, seconds: kept.seconds, feedback: null };
      for (const answer of kept.answers) applyAnswer(screen, answer);
      if (each.practice && kept.done) screen.feedback = this.feedback(each, answers);
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
    try {
      const response = await fetch(this.data.post, { method: "POST", body: this.handIn() });
      this.posted = response.ok;
    } catch {
      this.posted = false;
    }
    this.tell(this.posted ? "saved" : "unsent");
  }

  open() {
    return new Promise((resolve, reject) => {
      const request = indexedDB.open(this.name, 1);
      request.onupgradeneeded = () => request.result.createObjectStore("raters");
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(new Error("This browser does not let the page keep answers."));
    });
  }

  read() {
    return new Promise((resolve, reject) => {
      const request = this.database.transaction("raters").objectStore("raters").get(this.number);
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error);
    });
  }

  write() {
    return new Promise((resolve, reject) => {
      const change = this.database.transaction("raters", "readwrite", { durability: "strict" });
      change.objectStore("raters").put(this.record, this.number);
      change.oncomplete = () => resolve();
      change.onerror = () => reject(change.error);
    });
  }
}
