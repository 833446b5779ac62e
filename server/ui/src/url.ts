// The state of the page and its address: all of the state is in the query of the URL, without what is the default.

import { inZone, zone } from "./format";

// defaults has each field of the state. A flag is "1" or "".
export const defaults = {
  t: "", // type of the profiles
  q: "", // selector
  by: "", // label of the lines; states for the states of the history
  from: "latest-1h",
  to: "",
  v: "", // view: "" is the flame graph, and of an address without anything the services, if there are several
  l: "", // label of the rows of services, "" for service_name or job, the pattern of their names, and their order: total, name, newest, or
  m: "", // 1h, 1d, 1w for the change since then; a minus sign turns it
  ss: "total",
  look: "", // of services: "" a table, "cards"
  z: "", // hash of the path of the zoomed frame
  win: "", // what is seen beside the zoom: from~to, as parts of the width of all
  s: "", // pattern of the search
  fn: "", // function of the sandwich
  near: "", // function whose callers and callees are below the graph
  focus: "", // patterns of frames, as the command has them
  ignore: "",
  hide: "",
  inv: "",
  gran: "", // what a frame is: "" a function, "line", "file", "package", "binary"
  group: "", // label whose values are the first level
  fold: "", // recursion is folded
  o: "", // order of frames: "" by size, "name"
  c: "", // colour of frames: "" by package, "file", "binary", "value", "state"
  n: "", // frames of a tree, at most; "" leaves it to the server
  nodes: "", // functions of a call graph
  sum: "", // gauges are added up
  sort: "flat", // of the table
  bq: "", // the side before of a difference
  bfrom: "",
  bto: "",
  norm: "",
  rate: "", // of a difference: "" for equally long times, "0" totals
  ch: "", // functions of a difference: "" all, "new", "gone", "both"
  side: "", // of a difference: "" both, "before", "after"
  live: "",
  utc: "", // times are shown in UTC, not as local ones
  h: "", // history, and path of its attributes
  p: "",
  st: "", // samples of a state
  ns: "", // samples without a state, for a reason
  at: "", // samples of an attribute
  mw: "", // what ran while it was in the state
  rf: "", // text in the names of rows of states, and letters for how these are shown: w, l, a, s
  ro: "",
  wb: "", // what statistics of states are by: "" state, "attribute", "function", "latency", "waker"
};

// states is the choice of lines that is no label.
export const states = "{state}";

export type Field = keyof typeof defaults;
export type State = Record<Field, string>;

const fields = Object.keys(defaults) as Field[];

// parse returns the state of a query. Unknown fields are ignored: a link of another version still opens.
export function parse(query: string): State {
  const of = new URLSearchParams(query);
  const state: State = { ...defaults };
  for (const f of fields) state[f] = of.get(f) ?? defaults[f];
  return state;
}

// print returns the query of a state, with its question mark, "" for the default one.
export function print(state: State): string {
  const of = new URLSearchParams();
  for (const f of fields) if (state[f] !== defaults[f]) of.set(f, state[f]);
  const text = of.toString();
  return text && "?" + text;
}

// narrowed returns a selector that wants a value of a label, too.
export function narrowed(q: string, label: string, value: string): string {
  const matcher = `${/^[a-zA-Z_]\w*$/.test(label) ? label : JSON.stringify(label)}=${JSON.stringify(value)}`, inside = q.replace(/^\s*\{|,?\s*\}\s*$/g, "").trim();
  return inside === matcher ? q : `{${inside ? inside + "," : ""}${matcher}}`;
}

// nothing is the change of the state that chooses no state.
export const nothing = { st: "", ns: "", at: "", mw: "" } as const;

// fresh is the change of the state that forgets what was chosen of a selection: the side before, frames, rows and states.
export const fresh = { bq: "", bfrom: "", bto: "", z: "", win: "", s: "", fn: "", near: "", focus: "", ignore: "", hide: "", rf: "", ...nothing } as const;

// hasBefore reports whether a side before is chosen, and isDifference whether the view has one: the lines of a function do if it is.
export const hasBefore = (s: State) => s.bq + s.bfrom + s.bto !== "";
export const isDifference = (s: State) => s.v === "difference" || (s.v === "source" && hasBefore(s));

// shifted returns the time a duration before one: an absolute one, or one before the same base. "" if it cannot be told.
export function shifted(time: string, millis: number): string {
  const ago = parseAgo(time);
  if (ago) return (ago.base === "latest" ? "latest" : "") + printAgo(ago.millis + millis);
  const at = Date.parse(time);
  return Number.isNaN(at) ? "" : stamp(at - millis);
}

// end returns the end of the range of a state: without one it is what the start counts from.
export const end = (s: State) => s.to || (parseAgo(s.from)?.base === "now" ? "now" : "latest");

const units: Record<string, number> = { ns: 1e-6, us: 1e-3, "µs": 1e-3, "μs": 1e-3, ms: 1, s: 1e3, m: 6e4, h: 36e5, d: 864e5, w: 6048e5 };
const relative = /^(?:(now|latest)|(?:(now|latest)?-)?((?:\d+(?:\.\d+)?(?:ns|us|µs|μs|ms|s|m|h|d|w))+|0))$/;

// parseAgo reads a time that is relative in the grammar of package timetext, such as latest-1h or -1h, which is before now.
// It returns null for another.
export function parseAgo(text: string): { base: "now" | "latest"; millis: number } | null {
  const parts = relative.exec(text);
  if (!parts) return null;
  const millis = [...(parts[3] ?? "").matchAll(/(\d+(?:\.\d+)?)(ns|us|µs|μs|ms|s|m|h|d|w)/g)].reduce((sum, [, n, unit]) => sum + Number(n) * units[unit!]!, 0);
  return { base: (parts[1] ?? parts[2] ?? "now") as "now" | "latest", millis };
}

// printAgo returns a duration with a minus sign, in the largest unit that is exact.
export function printAgo(millis: number): string {
  for (const unit of ["d", "h", "m", "s"]) if (millis > 0 && millis % units[unit]! === 0) return "-" + millis / units[unit]! + unit;
  return "-" + Math.max(0, Math.round(millis)) + "ms";
}

// stamp returns a time in RFC 3339, to the microsecond if that is needed.
export function stamp(millis: number): string {
  const micros = Math.round(1000 * millis), more = micros % 1000, at = new Date((micros - more) / 1000).toISOString();
  return more ? at.replace("Z", `${more}Z`.padStart(4, "0")) : at.replace(".000Z", "Z");
}

// shownTime returns a time of the address as a field has it: an absolute one in the zone.
export function shownTime(time: string): string {
  const parts = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d+)?Z$/.exec(time), shown = parts ? inZone(Date.parse(parts[1] + "Z")) : "";
  return shown ? shown.slice(0, 19).replace("T", " ") + (parts![2] ?? "") : time;
}

// readTime is the inverse of shownTime. A date alone is its midnight.
export function readTime(typed: string): string {
  const parts = /^(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d)(:\d\d)?(\.\d+)?)?$/.exec(typed);
  const at = parts ? Date.parse(`${parts[1]}T${parts[2] ?? "00:00"}${parts[3] ?? ":00"}${zone.isUTC ? "Z" : ""}`) : NaN;
  return Number.isNaN(at) ? typed : stamp(at).replace("Z", (parts![4] ?? "") + "Z");
}

// Bases are what times count from, in milliseconds: the time of the newest profile, 0 if there is none, and the instant of the load.
export interface Bases { newest: number; now: number }

// millisOf returns the milliseconds of a time in RFC 3339. Those of Date.parse are whole, and states can be shorter.
export const millisOf = (time: string) => Date.parse(time) + Number("0." + (/\.\d{3}(\d+)/.exec(time)?.[1] ?? 0));

// resolve returns the milliseconds of a time of the state. Without a zone it is UTC, as for the server.
export function resolve(text: string, bases: Bases): number {
  const ago = parseAgo(text);
  if (ago) return (ago.base === "now" ? bases.now : bases.newest) - ago.millis;
  if (/^(\d{10}(\.\d+)?|\d{13}|\d{16}|\d{19})$/.test(text)) return Number(text) * 10 ** (13 - text.split(".")[0]!.length);
  const at = millisOf(text.replace(/^(\S+)[ T]([\d:.]+)$/, "$1T$2Z"));
  return Number.isNaN(at) ? bases.newest : at;
}

// resolved returns the range of time of a state.
export const resolved = <B extends Bases>(s: State, bases: B) => ({ ...bases, from: resolve(s.from, bases), to: resolve(end(s), bases) });
