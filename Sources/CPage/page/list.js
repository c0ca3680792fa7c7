// A list of any length. Only the visible rows are in the document.
import { el, newID } from "./dom.js";

const margin = 8;

export class List {
  // `row(item)` returns the content of a row, and `describe(item)` its attributes. An item has an `id`, and a `stamp`
  // that changes if the row must be made again.
  constructor({ label, role, itemRole, row, describe, onOpen, onSide, onKey }) {
    Object.assign(this, { row, describe, onOpen, onSide, onKey, itemRole, items: [], rows: new Map(),
      places: new Map(), active: null });
    this.prefix = newID();
    this.space = el("div.space", { role: "presentation" });
    this.element = el("div.list", {
      tabindex: 0, role, "aria-label": label, onscroll: () => this.#scroll(), onkeydown: event => this.#key(event),
      onpointerdown: event => { this.pressed = event.target.closest(".row")?.dataset.id; },
      onclick: event => this.#click(event), onfocusin: () => this.#focus(),
    }, this.space);
    new ResizeObserver(() => this.refresh()).observe(this.element);
  }

  get height() {
    const style = getComputedStyle(document.documentElement);
    return this.known ||= parseFloat(style.fontSize) * parseFloat(style.getPropertyValue("--row"));
  }

  // An element that leaves the document loses its scroll position, so the list keeps the position.
  #scroll() {
    if (this.element.clientHeight) this.top = this.element.scrollTop;
    this.#draw();
  }

  // The first row in view becomes the active row. The list does not scroll, because a press on a row moves the focus.
  #focus() {
    this.element.focus({ preventScroll: true });
    if (this.active !== null || !this.items.length) return;
    this.active = this.items[Math.min(this.items.length - 1, Math.ceil(this.element.scrollTop / this.height))].id;
    this.#draw();
  }

  refresh() {
    this.known = 0;
    const before = this.view || 0;
    const isBack = !before && this.top > 0;
    if (isBack) {
      this.#draw();
      this.element.scrollTop = this.top;
    }
    const top = this.active === null ? 0 : this.places.get(this.active) * this.height - this.element.scrollTop;
    this.view = this.element.clientHeight;
    this.#draw();
    // The active row stays in view, and the first view of the list shows the active row.
    const wasInView = top >= 0 && top < before;
    if (this.active !== null && this.view && !isBack && (!before || wasInView)) this.activate(this.active);
  }

  set(items) {
    this.items = items;
    this.places = new Map(items.map((item, index) => [item.id, index]));
    if (this.active !== null && !this.places.has(this.active)) this.active = null;
    this.#draw();
  }

  get activeItem() { return this.active === null ? null : this.items[this.places.get(this.active)]; }

  // Makes an item active, and scrolls to it.
  activate(id) {
    if (!this.places.has(id)) return false;
    this.move(this.places.get(id));
    return true;
  }

  move(index) {
    if (!this.items.length) return;
    const place = Math.max(0, Math.min(this.items.length - 1, index));
    this.active = this.items[place].id;
    const [top, view] = [place * this.height, this.element.clientHeight];
    if (top < this.element.scrollTop) this.element.scrollTop = top;
    else if (top + this.height > this.element.scrollTop + view) this.element.scrollTop = top + this.height - view;
    this.#draw();
  }

  #draw() {
    const { height, items, element } = this;
    const first = Math.max(0, Math.floor(element.scrollTop / height) - margin);
    const last = Math.min(items.length, Math.ceil((element.scrollTop + element.clientHeight) / height) + margin);
    this.space.style.height = `${items.length * height}px`;
    const rows = new Map();
    for (let index = first; index < last; index += 1) {
      const item = items[index];
      let known = this.rows.get(item.id);
      if (!known || known.stamp !== item.stamp) known = { stamp: item.stamp, element: this.#make(item) };
      known.element.style.transform = `translateY(${index * height}px)`;
      known.element.setAttribute("aria-selected", String(item.id === this.active));
      rows.set(item.id, known);
    }
    const same = rows.size === this.rows.size && [...rows].every(([id, row]) => this.rows.get(id) === row);
    this.rows = rows;
    if (!same) this.space.replaceChildren(...[...rows.values()].map(row => row.element));
    const active = this.active !== null && rows.get(this.active);
    if (active) element.setAttribute("aria-activedescendant", active.element.id);
    else element.removeAttribute("aria-activedescendant");
  }

  #make(item) {
    const element = el("a.row", { role: this.itemRole, tabindex: -1, ...this.describe(item) }, this.row(item));
    element.id = `${this.prefix}-${encodeURIComponent(item.id)}`;
    element.dataset.id = item.id;
    if (item.level) element.style.setProperty("--level", item.level - 1);
    return element;
  }

  #click(event) {
    // If an update replaced the row between press and release, the click is on no row.
    const id = event.target.closest(".row")?.dataset.id ?? this.pressed;
    if (!this.places.has(id) || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    this.move(this.places.get(id));
    this.onOpen(this.activeItem, event);
  }

  #key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey || event.target !== this.element) return;
    const place = this.active === null ? -1 : this.places.get(this.active);
    const page = Math.max(1, Math.floor(this.element.clientHeight / this.height) - 1);
    const moves = { ArrowDown: place + 1, ArrowUp: place - 1, PageDown: place + page, PageUp: place - page, Home: 0,
      End: this.items.length - 1 };
    const back = getComputedStyle(this.element).direction === "rtl" ? "ArrowRight" : "ArrowLeft";
    if (event.key in moves) this.move(moves[event.key]);
    else if (event.key === "Enter" && this.activeItem) this.onOpen(this.activeItem, event);
    else if ((event.key === "ArrowLeft" || event.key === "ArrowRight")
      && this.activeItem) this.onSide?.(this.activeItem, event.key === back ? -1 : 1);
    else if (!this.onKey?.(event, this.activeItem)) return;
    event.preventDefault();
  }
}

// A search field for a list. Arrow down and Enter focus the list. Escape empties the field, and then focuses the list.
export function searchField(label, listOf, draw) {
  const input = el("input", { type: "search", "aria-label": label, placeholder: `${label}  /`, oninput: () => {
    listOf().element.scrollTop = 0;
    draw();
  }, onkeydown: event => {
    if (event.key === "Escape" && input.value) {
      input.value = "";
      draw();
    } else if (["ArrowDown", "Enter", "Escape"].includes(event.key)) {
      listOf().element.focus();
    } else return;
    event.preventDefault();
  } });
  return input;
}
