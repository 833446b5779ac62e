// What all parts of the page share.

import { useEffect, useState } from "preact/hooks";
import type { Head, Load } from "./api";
import { on } from "./events";
import { count, many } from "./format";
import { frames, question, reading } from "./question";
import { details, inView, lit, missing, spoken, touched, uncopied } from "./signal";
import type { History } from "./states";
import { end, hasBefore, parse, parseAgo, print, resolve, shifted, stamp, type Bases, type State } from "./url";

export { details, frames, inView, lit, missing, question, reading, spoken, touched, uncopied };

// Page is what a part of the page gets. go changes the state: as a step of the browser's history, or in its place.
export interface Page {
  state: State;
  go: (change: Partial<State>, inPlace?: boolean) => void;
  load: Load;
  loadKey: string; // another one for each load
  range: Range;
  floor: number; // profiles before this time were evicted or dropped; 0 if none was
  oldest: number; // time of the first profile, NaN if that is not known
  unit: string;
  history: History | undefined; // the chosen one
}

// Range is the time that is seen, in milliseconds.
export interface Range extends Bases { from: number; to: number }

// useAddress returns the state of the address, and how to change it.
export function useAddress(): [State, Page["go"]] {
  const [state, set] = useState(() => parse(location.search));
  useEffect(() => on(window, { popstate: () => set(parse(location.search)) }), []);
  const go: Page["go"] = (change, inPlace = false) => {
    const next = { ...parse(location.search), ...change };
    const address = location.pathname + print(next);
    if (print(next) === location.search) return;
    if (inPlace) history.replaceState(null, "", address);
    else history.pushState(null, "", address);
    set(next);
  };
  return [state, go];
}

// fixed returns a state with times that stay.
export function fixed(state: State, range: Range): State {
  const out = { ...state, live: "" };
  if (parseAgo(state.from)) out.from = stamp(range.from);
  if (state.to === "" || parseAgo(state.to)) out.to = stamp(range.to + 1);
  for (const f of ["bfrom", "bto"] as const) if (parseAgo(state[f])) out[f] = stamp(resolve(state[f], range));
  return out;
}

// mostFrames is how many frames of a tree the page asks for, if it is asked for more.
export const mostFrames = 100_000;

// copy puts a text on the clipboard and says so. Where the browser does not let it, as over plain HTTP by the name of a host,
// CopyField shows the text.
export async function copy(what: string, text: string) {
  try {
    await navigator.clipboard.writeText(text);
    spoken.set(what + " is copied");
    details.set(what + " is copied");
  } catch {
    uncopied.set(what + "\n" + text);
  }
}

// readBy says what an answer read.
export function readBy(head: Head | undefined) {
  if (!head?.touched) return;
  const { granules, parts, rows, chosen } = head.touched;
  touched.set(`read ${many(rows, "row")} of ${many(granules, "granule")}, ${many(parts, "part")}; ${count(chosen)} summed` + (head.commit ? `; commit ${head.commit}` : ""));
}

// labelRange returns the range that is seen as a question for labels has it: in milliseconds, with the end left out.
export const labelRange = (page: Page) => ({ start: String(Math.max(1, Math.floor(page.range.from))), end: String(Math.ceil(page.range.to) + 1) });

// sideBefore returns the times of the side before of a difference: the range before the one that is seen, unless a side is chosen.
export function sideBefore({ state, range }: Page): Partial<State> {
  if (hasBefore(state)) return {};
  const length = range.to - range.from;
  return { bfrom: shifted(state.from, length), bto: shifted(end(state), length) };
}
