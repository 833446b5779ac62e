// The parts of the page beside the graph, which fold, and the keys that work everywhere.

import { useEffect } from "preact/hooks";
import { on } from "./events";
import { kept, type Signal } from "./signal";

// Each part is "1" if it is open, "0" if it is folded, and "" as there is room: in a low window the states would leave no graph.
const parts: Record<string, Signal<string>> = { chart: kept("part-chart"), states: kept("part-states"), table: kept("part-table") };
const keys = Object.keys(parts), roomy = 860;

export const bare = { is: false }; // there are states alone

const opened = (name: string, choice: string) => (choice ? choice === "1" : name !== "states" || bare.is || innerHeight >= roomy);

// useOpen reports whether a part is open.
export const useOpen = (name: string) => opened(name, parts[name]!.use());

const fold = (name: string) => parts[name]!.set(opened(name, parts[name]!.value) ? "0" : "1");

// single is "0" if keys without Ctrl or Alt work in what has the focus alone.
export const single = kept("single-keys", "1");

// Parts are the buttons that fold and open, each with its key.
export function Parts({ has }: { has: string[] }) {
  const key = (e: KeyboardEvent) => {
    if (e.defaultPrevented || single.value === "0" || e.ctrlKey || e.metaKey || e.altKey || e.target instanceof Element && e.target.matches("input, select, textarea")) return;
    const name = keys[Number(e.key) - 1], search = e.key === "/" && document.querySelector<HTMLInputElement>("#search");
    if (search) search.select();
    else if (name && has.includes(name)) fold(name);
    else return;
    e.preventDefault();
  };
  useEffect(() => on(window, { keydown: key }), [has.join()]);
  return <span class="parts" role="group" aria-label="parts of the page">{keys.filter((n) => has.includes(n)).map((name) => <Part name={name} key={name} />)}</span>;
}

function Part({ name }: { name: string }) {
  const isOpen = useOpen(name), at = keys.indexOf(name) + 1;
  return <button type="button" class="part" aria-expanded={isOpen} aria-keyshortcuts={String(at)} title={`${isOpen ? "fold" : "open"} the ${name}  (${at})`} onClick={() => fold(name)}>{name}</button>;
}
