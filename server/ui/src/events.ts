// Events of the page, and of parts of it.

import { useEffect } from "preact/hooks";

// on calls functions by the names of a target's events, until what it returns is called.
export function on(target: EventTarget, all: Record<string, (e: never) => void>): () => void {
  const until = new AbortController();
  for (const [name, f] of Object.entries(all)) target.addEventListener(name, f as EventListener, { signal: until.signal });
  return () => until.abort();
}

// walkMenu moves the focus over the items of a menu by arrows, or closes it. It stops these keys, because a graph around it has them too.
export function walkMenu(e: KeyboardEvent, place: Element, close: () => void) {
  const all = [...place.querySelectorAll<HTMLElement>("[role=menuitem]")], by = e.key === "ArrowDown" ? 1 : e.key === "ArrowUp" ? -1 : 0;
  if (e.key === "Escape") { close(); place.querySelector<HTMLElement>("[aria-haspopup]")?.focus(); }
  else if (by && all.length) all.at((Math.max(all.indexOf(document.activeElement as HTMLElement), by < 0 ? 0 : -1) + by) % all.length)!.focus();
  else return;
  e.preventDefault();
  e.stopPropagation();
}

// useOutside calls a function when the pointer is pressed outside of an element, while this is open: of menus and boxes.
export function useOutside(isOpen: boolean, place: { current: Element | null }, close: () => void) {
  const outside = (e: Event) => { if (!place.current?.contains(e.target as Node)) close(); };
  useEffect(() => (isOpen ? on(window, { pointerdown: outside }) : undefined), [isOpen]);
}
