// The histories of the store, and the parameters of questions about states.

import { useAnswer, type Answer } from "./answer";
import { get, type Group, type Head } from "./api";
import { text } from "./format";
import type { State } from "./url";

// History is one history of the store.
export interface History { name: string; attributes: number; first?: string; end?: string; floor: string; bytes: number; closed: boolean }

// StateText is a value as the server spells it: no two have one text.
export interface StateText { state: string; kind: string }

// Row is an attribute by pixel: runs of pixels of one state, which has a share of each of them, in percent.
export interface Row { attribute: string; name?: string; level?: number; intervals: number; wait_ns?: number; first: number[]; state: number[]; share?: number[]; sampled?: boolean; samples?: number[] }

// Wake is where a row was woken, and by which row, -1 for none that is shown.
export interface Wake { row: number; pixel: number; by: string; by_row: number }

// Pixels are the states of the part of a range that the history has.
export interface Pixels extends Head { from: string; to: string; floor: string; pixels: number; all: number; nulls: number; offset: number; states: StateText[]; rows: Row[]; wakes?: Wake[]; wakes_left?: boolean }

export interface Interval extends StateText { start: string; end: string; open: boolean }

// useHistories asks for the histories of the store. A front has none.
export function useHistories(tick: number): Answer<History[]> {
  return useAnswer(String(tick), async (signal) => {
    try {
      return (await get<{ histories: History[] }>("api/v1/histories", {}, signal)).histories.filter((h) => h.attributes > 0);
    } catch (e) {
      if ((e as Error).name === "AbortError") throw e;
      return [];
    }
  });
}

// labels are what attributes of some systems are told apart by: what comes with Granary's own importers, and usual names.
const labels: Record<string, string> = { Goroutines: "track", Threads: "tid", CPUs: "cpu", Procs: "proc" };

// noun is what an attribute of a path is to people.
export const noun = (path: string) => (path.startsWith("Goroutines/") ? "goroutine" : path.startsWith("Threads/") ? "thread" : "attribute");

// plain returns an attribute as the pattern of it alone.
export const plain = (attribute: string) => attribute.replace(/[{}]/g, "$&$&");

// usePaths returns paths of attributes to choose from: those at the top, and their children by a label.
export function usePaths(history: string, tick: string): Answer<string[]> {
  return useAnswer(history ? JSON.stringify([history, tick]) : null, async (signal) => {
    const tree = await get<{ children: { name: string; attribute: string; parent: boolean; kind: string; label?: string }[] }>(`api/v1/histories/${encodeURIComponent(history)}/tree`, { rows: 50 }, signal);
    const first = tree.children.toSorted((a, b) => Number(b.name in labels) - Number(a.name in labels)); // what has samples, as far as the page knows
    return first.flatMap((c) => [...(c.parent ? [`${plain(c.attribute)}/{${c.label ?? labels[c.name] ?? "id"}}`] : []), ...(c.kind === "null" ? [] : [plain(c.attribute)])]);
  });
}

// groupName returns the name of a group of samples.
export const groupName = (g: Group) => (g.status === "known" ? text(g.state!, 60) : g.others ? `${g.others} other states` : `without a state: ${g.status}`);

// groupFill returns the number of its colour, -1 for that of the rest.
export const groupFill = (g: Group) => (g.status === "known" ? fillOf(g.state!) : -1);

// group returns what a state is coloured by: waiting of "waiting (select)".
export const group = (state: string) => state.replace(/ \(.*\)$/, "");

const known: Record<string, number> = { running: 2, runnable: 0, waiting: 5, syscall: 6, idle: 5, marking: 7, off: -1, null: -1 };

// fillOf returns the number of a state's colour, -1 for a state that is none.
export function fillOf(state: string): number {
  const name = group(state), fixed = known[name];
  if (fixed !== undefined) return fixed;
  let h = 7;
  for (let i = 0; i < name.length; i++) h = Math.imul(h, 31) + name.charCodeAt(i);
  return (h >>> 3) & 7;
}

// isOf reports whether a history is of a service that a selector names: it has the service's name, before its labels.
export const isOf = (h: History, selector: string) => selector.includes(JSON.stringify(h.name.replace(/\{.*$/, "")));

// withDefaults fills in the history and the path that the address leaves out.
export function withDefaults(s: State, histories: History[], paths: string[] | undefined): State {
  const h = s.h || (histories.find((h) => isOf(h, s.q)) ?? histories[0])?.name || "";
  return { ...s, h, p: s.p || paths?.[0] || "" };
}
