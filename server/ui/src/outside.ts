// Menus and boxes that a press elsewhere closes.

import { useEffect } from "preact/hooks";

// useOutside calls a function when the pointer is pressed outside of an element, while this is open.
export function useOutside(isOpen: boolean, place: { current: Element | null }, close: () => void) {
  useEffect(() => {
    if (!isOpen) return;
    const outside = (e: Event) => { if (!place.current?.contains(e.target as Node)) close(); };
    addEventListener("pointerdown", outside);
    return () => removeEventListener("pointerdown", outside);
  }, [isOpen]);
}
