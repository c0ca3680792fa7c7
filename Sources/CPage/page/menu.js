// A button that opens a menu of actions.
import { button, el, newID } from "./dom.js";

// `items()` returns the actions, each as `[text, act]`. The menu omits false and undefined items.
export function menu(label, items) {
  const item = ([text, act]) => button(text, () => { list.hidePopover(); act(); }, { role: "menuitem", tabindex: -1 });
  const list = el("div.menu", { popover: "auto", role: "menu", "aria-label": label, id: newID(),
  onbeforetoggle: event => {
    if (event.newState === "open") list.replaceChildren(...items().filter(Boolean).map(item));
  }, ontoggle: event => {
    if (event.newState === "closed") return list.replaceChildren();
    place();
    list.firstChild.focus();
    // A resize of the window or a scroll moves the button but not the menu, so this code closes the menu.
    for (const event of ["resize", "scroll"])
      addEventListener(event, () => list.hidePopover(), { once: true, capture: true });
  }, onkeydown: event => {
    const all = [...list.children], at = all.indexOf(document.activeElement);
    const moves = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 };
    if (event.key === "Tab") list.hidePopover();
    if (!(event.key in moves)) return;
    event.preventDefault();
    all.at(moves[event.key] % all.length).focus();
  } });
  const opener = button("⋯", null, { class: "quiet", "aria-label": label, "aria-haspopup": "menu", popovertarget: list.id });

  // Places the menu below the button, or above the button if there is no room, and within the screen.
  function place() {
    const [anchor, size] = [opener.getBoundingClientRect(), list.getBoundingClientRect()];
    const isRTL = getComputedStyle(opener).direction === "rtl";
    const left = isRTL ? Math.min(anchor.left, innerWidth - size.width - 8) : Math.max(8, anchor.right - size.width);
    list.style.left = `${left}px`;
    list.style.top = `${anchor.bottom + size.height > innerHeight ? Math.max(0, anchor.top - size.height) : anchor.bottom}px`;
  }

  return el("span.menu-button", opener, list);
}
