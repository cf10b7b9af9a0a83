// Zoom and pan in step on all pictures of a screen; hold one to see the source in its place.
const MOST_ZOOM = 12;
const HOLD_MS = 140;
const MOVED_PX = 5;

export class Viewer {
  constructor(root) {
    this.root = root;
    this.pointers = new Map();
    this.fit();
    root.addEventListener("pointerdown", (event) => this.down(event));
    root.addEventListener("pointermove", (event) => this.moved(event));
    for (const name of ["pointerup", "pointercancel", "pointerleave"]) {
      root.addEventListener(name, (event) => this.up(event));
    }
    root.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    root.addEventListener("dblclick", (event) => this.doubleClick(event));
    root.addEventListener("contextmenu", (event) => {
      if (event.target.closest(".frame")) event.preventDefault();
    });
  }

  fit() {
    this.zoom = 1;
    this.x = 0;
    this.y = 0;
    this.show();
  }

  // Zoom by a factor, keeping the point (in shares of the frame) where it is.
  by(factor, point = { x: 0.5, y: 0.5 }) {
    const zoom = Math.min(MOST_ZOOM, Math.max(1, this.zoom * factor));
    this.x = point.x - ((point.x - this.x) * zoom) / this.zoom;
    this.y = point.y - ((point.y - this.y) * zoom) / this.zoom;
    this.zoom = zoom;
    this.show();
  }

  pan(dx, dy) {
    this.x += dx;
    this.y += dy;
    this.show();
  }

  show() {
    const least = 1 - this.zoom;
    this.x = Math.min(0, Math.max(least, this.x));
    this.y = Math.min(0, Math.max(least, this.y));
    const style = this.root.style;
    style.setProperty("--z", this.zoom.toFixed(4));
    style.setProperty("--x", `${(this.x * 100).toFixed(3)}%`);
    style.setProperty("--y", `${(this.y * 100).toFixed(3)}%`);
    this.root.classList.toggle("zoomed", this.zoom > 1.001);
    this.root.classList.toggle("deep", this.zoom > 4);
  }

  peek(on) {
    this.root.classList.toggle("peeking", on);
  }

  down(event) {
    const frame = event.target.closest(".frame");
    if (!frame || event.button > 0) return;
    const start = { x: event.clientX, y: event.clientY };
    this.pointers.set(event.pointerId, { frame, start, last: start, moved: false });
    clearTimeout(this.holding);
    if (this.pointers.size === 1) {
      this.holding = setTimeout(() => frame.classList.add("peek"), HOLD_MS);
    } else {
      this.letGo();
      this.spread = this.distance();
    }
  }

  moved(event) {
    const held = this.pointers.get(event.pointerId);
    if (!held) return;
    const now = { x: event.clientX, y: event.clientY };
    const box = held.frame.getBoundingClientRect();
    if (Math.hypot(now.x - held.start.x, now.y - held.start.y) > MOVED_PX) held.moved = true;
    if (this.pointers.size === 2) {
      held.last = now;
      const spread = this.distance();
      this.by(spread / this.spread, this.share(this.middle(), box));
      this.spread = spread;
      return;
    }
    if (held.moved && this.zoom > 1) {
      this.letGo();
      this.pan((now.x - held.last.x) / box.width, (now.y - held.last.y) / box.height);
    }
    held.last = now;
  }

  up(event) {
    if (!this.pointers.delete(event.pointerId)) return;
    this.letGo();
  }

  letGo() {
    clearTimeout(this.holding);
    for (const frame of this.root.querySelectorAll(".frame.peek")) frame.classList.remove("peek");
  }

  wheel(event) {
    const frame = event.target.closest(".frame");
    // Plain scrolling moves the page, unless the pictures are zoomed already.
    if (!frame || !(event.ctrlKey || event.metaKey || this.zoom > 1)) return;
    event.preventDefault();
    const point = this.share({ x: event.clientX, y: event.clientY }, frame.getBoundingClientRect());
    this.by(Math.exp(-event.deltaY * 0.002), point);
  }

  doubleClick(event) {
    const frame = event.target.closest(".frame");
    if (!frame) return;
    if (this.zoom > 1) {
      this.fit();
    } else {
      const box = frame.getBoundingClientRect();
      this.by(3, this.share({ x: event.clientX, y: event.clientY }, box));
    }
  }

  share(point, box) {
    return { x: (point.x - box.left) / box.width, y: (point.y - box.top) / box.height };
  }

  distance() {
    const [a, b] = [...this.pointers.values()];
    return Math.max(1, Math.hypot(a.last.x - b.last.x, a.last.y - b.last.y));
  }

  middle() {
    const [a, b] = [...this.pointers.values()];
    return { x: (a.last.x + b.last.x) / 2, y: (a.last.y + b.last.y) / 2 };
  }
}
