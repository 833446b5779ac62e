// Values that components show, and that others change without rendering what is between them.

import { useLayoutEffect, useState } from "preact/hooks";

export class Signal<T> {
  private listeners = new Set<(value: T) => void>();
  constructor(public value: T) {}

  set(value: T) {
    if (value === this.value) return;
    this.value = value;
    for (const l of this.listeners) l(value);
  }

  // listen calls a function with each next value, until what it returns is called.
  listen(f: (value: T) => void): () => void {
    this.listeners.add(f);
    return () => void this.listeners.delete(f);
  }

  // use makes a component show the value.
  use(): T {
    const [value, set] = useState(this.value), next = (v: T) => set(() => v);
    useLayoutEffect(() => { next(this.value); return this.listen(next); }, []);
    return value;
  }
}

// Texts at the bottom of the page.
export const details = new Signal(""); // for the eyes
export const spoken = new Signal(""); // for screen readers
export const touched = new Signal("");
export const uncopied = new Signal(""); // what a text is, a line, and the text, which the browser did not let the page copy
export const missing = new Signal(""); // nodes of a front that answers lack, a line each

// kept is a choice that the browser remembers.
export function kept(name: string, otherwise = ""): Signal<string> {
  const of = new Signal(localStorage.getItem(name) ?? otherwise);
  of.listen((v) => localStorage.setItem(name, v));
  return of;
}

// lit is the function of the row that is pointed at: its frames are lit. inView is that of the frame that the graph is zoomed to.
export const lit = new Signal(""), inView = { name: "" };
