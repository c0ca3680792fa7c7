// A list of any length. Only the visible rows are in the document.
import { el, newID, searchInput, sign } from "./dom.js";
import { texts } from "./texts.js";

// The rows in the document above and below the visible rows.
const extraRows = 8;

export class List {
  // `row(item)` returns the content of a row, and `describe(item)` its attributes. An item has an `id`, and a `stamp`
  // that changes if the row must be made again. A part of a row, such as a switch, has `data-part`. `onPart(item, name)`
  // handles a click on an element with `data-part`, `onArrow(item, by)` the left and right arrow keys (`by` is 1 for the
  // key in the direction of the text, or -1), and `onKey` other keys.
  constructor({ label, role, itemRole, row, describe, onOpen, onPart, onArrow, onKey }) {
    Object.assign(this, { row, describe, onOpen, onPart, onArrow, onKey, itemRole, items: [], rows: new Map(),
      indexes: new Map(), active: null });
    this.prefix = newID();
    // The element that is as high as all rows.
    this.space = el("div.space", { role: "presentation" });
    this.element = el("div.list", {
      tabindex: 0, role, "aria-label": label, onscroll: () => this.#scroll(), onkeydown: event => this.#key(event),
      onpointerdown: event => {
        this.pressed = event.target.closest(".row")?.dataset.id;
        this.pressedPart = event.target.closest("[data-part]")?.dataset.part;
      },
      onclick: event => this.#click(event), onfocusin: () => this.#focus(), onblur: () => this.#allowMark(),
    }, this.space);
    new ResizeObserver(() => this.refresh()).observe(this.element);
  }

  get rowHeight() {
    const style = getComputedStyle(document.documentElement);
    return this.cachedHeight ||= parseFloat(style.fontSize) * parseFloat(style.getPropertyValue("--row"));
  }

  // An element that leaves the document loses its scroll position, so the list keeps the position.
  #scroll() {
    if (this.element.clientHeight) this.top = this.element.scrollTop;
    this.#draw();
  }

  // The first row in view becomes the active row. The list does not scroll, because a press on a row also moves the focus
  // here, and the pressed row must stay under the pointer.
  #focus() {
    this.element.focus({ preventScroll: true });
    if (this.active !== null || !this.items.length || this.element.matches(".is-unmarked")) return;
    this.active = this.items[Math.min(this.items.length - 1, Math.ceil(this.element.scrollTop / this.rowHeight))].id;
    this.#draw();
  }

  // Focuses the list when a view opens. No row is marked until the person presses a key, clicks a row, or focuses the list again.
  focusWithoutMark() {
    this.element.classList.add("is-unmarked");
    this.element.focus({ preventScroll: true });
  }

  #allowMark() { this.element.classList.remove("is-unmarked"); }

  // Draws the list again after its size has changed.
  refresh() {
    this.cachedHeight = 0;
    const before = this.viewHeight || 0;
    const isShownAgain = !before && this.top > 0;
    if (isShownAgain) {
      this.#draw();
      this.element.scrollTop = this.top;
    }
    const top = this.active === null ? 0 : this.indexes.get(this.active) * this.rowHeight - this.element.scrollTop;
    this.viewHeight = this.element.clientHeight;
    this.#draw();
    // The active row stays in view, and the first view of the list shows the active row.
    const wasInView = top >= 0 && top < before;
    if (this.active !== null && this.viewHeight && !isShownAgain && (!before || wasInView)) this.activate(this.active);
  }

  set(items) {
    this.items = items;
    this.indexes = new Map(items.map((item, index) => [item.id, index]));
    if (this.active !== null && !this.indexes.has(this.active)) this.active = null;
    this.#draw();
  }

  get activeItem() { return this.active === null ? null : this.items[this.indexes.get(this.active)]; }

  activate(id) {
    if (!this.indexes.has(id)) return false;
    this.move(this.indexes.get(id));
    return true;
  }

  move(index) {
    if (!this.items.length) return;
    const target = Math.max(0, Math.min(this.items.length - 1, index));
    this.active = this.items[target].id;
    const [top, view] = [target * this.rowHeight, this.element.clientHeight];
    if (top < this.element.scrollTop) this.element.scrollTop = top;
    else if (top + this.rowHeight > this.element.scrollTop + view) this.element.scrollTop = top + this.rowHeight - view;
    this.#draw();
  }

  #draw() {
    const { rowHeight: height, items, element } = this;
    const first = Math.max(0, Math.floor(element.scrollTop / height) - extraRows);
    const end = Math.min(items.length, Math.ceil((element.scrollTop + element.clientHeight) / height) + extraRows);
    this.space.style.height = `${items.length * height}px`;
    const rows = new Map();
    for (let index = first; index < end; index += 1) {
      const item = items[index];
      let known = this.rows.get(item.id);
      if (!known || known.stamp !== item.stamp) known = { stamp: item.stamp, element: this.#make(item) };
      known.element.style.transform = `translateY(${index * height}px)`;
      known.element.setAttribute("aria-selected", String(item.id === this.active));
      rows.set(item.id, known);
    }
    const before = [...this.rows.values()];
    const same = rows.size === before.length && [...rows.values()].every((row, index) => before[index] === row);
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
    if (!this.indexes.has(id) || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    this.#allowMark();
    this.move(this.indexes.get(id));
    const part = this.pressed === id ? this.pressedPart : undefined;
    this.pressedPart = undefined;
    if (part === undefined) this.onOpen(this.activeItem, event);
    else this.onPart(this.activeItem, part);
  }

  #key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey || event.target !== this.element) return;
    this.#allowMark();
    const current = this.active === null ? -1 : this.indexes.get(this.active);
    const pageRows = Math.max(1, Math.floor(this.element.clientHeight / this.rowHeight) - 1);
    const moves = { ArrowDown: current + 1, ArrowUp: current - 1, PageDown: current + pageRows,
      PageUp: current - pageRows, Home: 0, End: this.items.length - 1 };
    const backKey = getComputedStyle(this.element).direction === "rtl" ? "ArrowRight" : "ArrowLeft";
    if (event.key in moves) this.move(moves[event.key]);
    else if (event.key === "Enter" && this.activeItem) this.onOpen(this.activeItem, event);
    else if ((event.key === "ArrowLeft" || event.key === "ArrowRight")
      && this.activeItem) this.onArrow?.(this.activeItem, event.key === backKey ? -1 : 1);
    else if (!this.onKey?.(event, this.activeItem)) return;
    event.preventDefault();
  }
}

// The headings of a list, by which a person sorts it. A column is `{ id, label, keyOf, isReversed }`: `keyOf(item)` is a
// number or a text, and `isReversed` is true if the first press sorts in descending order. A column without `keyOf` does
// not sort. `sort(items)` sorts the items by the chosen column; equal items keep their order.
export function headings(columns, draw) {
  let chosen = columns[0], isReversed = false;
  const cells = columns.map(column => {
    if (!column.keyOf) return el("span", { class: `to-${column.id}` }, column.label);
    return el("button", { type: "button", class: `to-${column.id}`, onclick: () => {
      isReversed = chosen === column ? !isReversed : column.isReversed === true;
      chosen = column;
      show();
      draw();
    } });
  });
  const show = () => columns.forEach((column, index) => {
    if (!column.keyOf) return;
    const isChosen = column === chosen;
    cells[index].replaceChildren(column.label, ...(isChosen
      ? [sign(isReversed ? " ▼" : " ▲"), el("span.unseen", texts.common.sorted(isReversed))] : []));
  });
  const sort = items => {
    const keys = new Map(items.map(item => [item, chosen.keyOf(item)]));
    const order = isReversed ? -1 : 1;
    return items.sort((one, other) => order * compare(keys.get(one), keys.get(other)));
  };
  show();
  return { element: el("div.headings", { role: "group", "aria-label": texts.common.sort }, cells), sort,
    get column() { return chosen.id; } };
}

// Numbers come before texts.
function compare(one, other) {
  if (typeof one !== typeof other) return typeof one === "number" ? -1 : 1;
  return one < other ? -1 : one > other ? 1 : 0;
}

// The words of a search, in lower case. A search finds the texts that contain all words.
export const wordsOf = text => text.toLowerCase().split(/\s+/).filter(Boolean);

// A search field for the list `listOf()`. Arrow down and Enter focus the list. Escape empties the field; in an empty
// field, Escape focuses the list.
export function searchField(label, listOf, draw) {
  const input = searchInput(label, { placeholder: `${label}  /`, oninput: () => {
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
