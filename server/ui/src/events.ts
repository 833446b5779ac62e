// Events of the page, and of parts of it.

import { useEffect } from "preact/hooks";

// on calls functions by the names of a target's events, until what it returns is called.
export function on(target: EventTarget, all: Record<string, (e: never) => void>): () => void {
  const until = new AbortController();
  for (const [name, f] of Object.entries(all)) target.addEventListener(name, f as EventListener, { signal: until.signal });
  return () => until.abort();
}

// useOutside calls a function when the pointer is pressed outside of an element, while this is open: of menus and boxes.
export function useOutside(isOpen: boolean, place: { current: Element | null }, close: () => void) {
  const outside = (e: Event) => { if (!place.current?.contains(e.target as Node)) close(); };
  useEffect(() => (isOpen ? on(window, { pointerdown: outside }) : undefined), [isOpen]);
}
