// The keys of a graph that has the focus.

import { copy, sideBefore, spoken, type Page } from "./page";
import { framePattern, functionName, stackText } from "./frames";
import type { Span } from "./flame";
import { moved, zoomed } from "./seen";
import type { Tree } from "./tree";
import { isDifference, resolve, stamp, type State } from "./url";

// Handle is what keys and menus do with a graph.
export interface Handle {
  tree: Tree; page: Page; isUp: boolean;
  focused: number; zoomed: number;
  hits: number[];
  focus: (node: number) => void;
  zoom: (node: number) => void;
  span: () => Span; // what is seen
  see: (span: Span | undefined) => void;
  around?: (node: number) => void; // shows its callers and callees below the graph
}

// graphKey does what a key says, and reports whether it says something.
export function graphKey(e: KeyboardEvent, g: Handle): boolean {
  if (e.ctrlKey || e.metaKey || e.altKey) return false;
  return (e.shiftKey && pan(e.key, g)) || walk(e.key, g) || magnify(e.key, g) || ask(e.key, g) || timeKey(e.key, g.page);
}

// magnify makes the frames wider or narrower, around the one with the focus if it is seen.
function magnify(key: string, g: Handle): boolean {
  const factor = { "+": 0.5, "=": 0.5, "-": 2 }[key];
  if (!factor) return false;
  const { tree, focused } = g, [from, to] = g.span(), middle = (Math.max(from, tree.x[focused]!) + Math.min(to, tree.x[focused]! + tree.w[focused]!)) / 2;
  g.see(zoomed(tree, [from, to], factor, middle > from && middle < to ? (middle - from) / (to - from) : 0.5));
  return true;
}

function pan(key: string, g: Handle): boolean {
  const by = { ArrowLeft: -0.2, ArrowRight: 0.2 }[key];
  if (by) g.see(moved(g.tree, g.span(), by));
  return by !== undefined;
}

// walk moves over the frames.
function walk(key: string, g: Handle): boolean {
  const { tree, focused: at, isUp } = g, kids = tree.children(at);
  const out = () => g.focus(Math.max(0, tree.parent[at]!)), inward = () => { if (kids.length) g.focus(kids[0]!); };
  switch (key) {
    case "ArrowUp": (isUp ? inward : out)(); break;
    case "ArrowDown": (isUp ? out : inward)(); break;
    case "ArrowLeft": beside(g, -1); break;
    case "ArrowRight": beside(g, 1); break;
    case "Enter": g.zoom(at); break;
    case "Backspace": g.zoom(Math.max(0, tree.parent[g.zoomed]!)); break;
    case "Escape": g.zoom(0); break;
    case "n": nextHit(g, 1); break;
    case "N": nextHit(g, -1); break;
    default: return false;
  }
  return true;
}

// beside goes to the next frame of the level.
function beside(g: Handle, by: number) {
  const level = g.tree.levels[g.tree.of.depth[g.focused]!]?.id, i = level?.indexOf(g.focused) ?? -1;
  if (level && i >= 0 && level[i + by] !== undefined) g.focus(level[i + by]!);
}

function nextHit(g: Handle, by: number) {
  const n = g.hits.length;
  if (!n) return spoken.set("nothing is found");
  const next = by > 0 ? g.hits.findIndex((h) => h > g.focused) : g.hits.findLastIndex((h) => h < g.focused);
  const i = next < 0 ? (by > 0 ? 0 : n - 1) : next;
  g.focus(g.hits[i]!);
  spoken.set(`hit ${i + 1} of ${n}`);
}

// ask changes what is asked for.
function ask(key: string, g: Handle): boolean {
  const { page: { state, go }, focused } = g, name = focused ? g.tree.name(focused) : "", only = framePattern(name, state.gran);
  switch (key) {
    case "/": document.querySelector<HTMLInputElement>("#search")?.select(); break;
    case "f": if (name) go({ focus: only, z: "" }); break;
    case "h": if (name) go({ hide: state.hide ? state.hide + "|" + only : only }); break;
    case "a": if (name) g.around?.(focused); break;
    case "s": if (name) go({ v: "sandwich", fn: name }); break;
    case "l": if (name) go({ v: "source", fn: functionName(name, state.gran) }); break;
    case "i": go({ inv: state.inv ? "" : "1", z: "" }); break;
    case "d": go({ v: "difference", ...sideBefore(g.page) }); break;
    case "c": void copy("the stack", stackText(g.tree, focused)); break;
    case "o": go({ o: state.o ? "" : "name" }); break;
    case "u": history.back(); break;
    default: return false;
  }
  return true;
}

// timeKey zooms and shifts the range, of a difference both sides by as much, and reports whether the key says so.
export function timeKey(key: string, { state, range, go }: Page): boolean {
  const { from, to } = range, length = to - from, moves: Record<string, [number, number]> = { "+": [0.25, -0.25], "-": [-0.5, 0.5], "[": [-0.5, -0.5], "]": [0.5, 0.5] };
  const move = moves[key];
  if (!move) return false;
  const by = (time: number, part: number, round: (n: number) => number) => stamp(round(time + part * length));
  const change: Partial<State> = { from: by(from, move[0], Math.floor), to: by(to, move[1], Math.ceil) };
  if (isDifference(state)) {
    if (state.bfrom) change.bfrom = by(resolve(state.bfrom, range), move[0], Math.floor);
    if (state.bto) change.bto = by(resolve(state.bto, range), move[1], Math.ceil);
  }
  go(change);
  return true;
}
