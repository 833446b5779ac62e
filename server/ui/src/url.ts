// The state of the page and its address: all of the state is in the query of the URL, without what is the default.

import { inZone, zone } from "./format";

// defaults has each field of the state. A flag is "1" or "".
export const defaults = {
  t: "", // type of the profiles
  q: "", // selector
  by: "", // label of the lines; states for the states of the history
  from: "-1h",
  to: "",
  v: "flame", // view
  z: "", // hash of the path of the zoomed frame
  s: "", // pattern of the search
  fn: "", // function of the sandwich
  focus: "", // patterns of frames, as the command has them
  ignore: "",
  hide: "",
  inv: "",
  o: "", // order of frames: "" by size, "name"
  c: "", // colour of frames: "" by package, "file", "binary", "value", "state"
  n: "", // frames of a tree, at most; "" leaves it to the server
  sum: "", // gauges are added up
  sort: "flat", // of the table
  bq: "", // the side before of a difference
  bfrom: "",
  bto: "",
  norm: "",
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

// isDifference reports whether a state has a side before.
export const isDifference = (s: State) => s.v === "difference";

// shifted returns the time a duration before one: an absolute one, or another duration. "" if it cannot be told.
export function shifted(time: string, millis: number): string {
  const ago = time === "" ? 0 : parseAgo(time);
  if (ago !== null) return printAgo(ago + millis);
  const at = Date.parse(time);
  return Number.isNaN(at) ? "" : stamp(at - millis);
}

const units: Record<string, number> = { ms: 1, s: 1e3, m: 6e4, h: 36e5, d: 864e5 };

// parseAgo returns the milliseconds of a duration such as -1h30m or -7d, null if it is none.
export function parseAgo(text: string): number | null {
  if (!/^-(\d+(\.\d+)?(ms|s|m|h|d))+$/.test(text)) return null;
  let sum = 0;
  for (const [, n, unit] of text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g)) sum += Number(n) * units[unit!]!;
  return sum;
}

// printAgo is the inverse of parseAgo, in the largest unit that is exact.
export function printAgo(millis: number): string {
  for (const unit of ["d", "h", "m", "s"]) if (millis > 0 && millis % units[unit]! === 0) return "-" + millis / units[unit]! + unit;
  return "-" + Math.max(0, Math.round(millis)) + "ms";
}

// stamp returns a time in RFC 3339, to the second if that is exact.
export function stamp(millis: number): string {
  return new Date(Math.round(millis)).toISOString().replace(".000Z", "Z");
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

// resolve returns the milliseconds of a time of the state, given the time of the newest profile.
export function resolve(text: string, newest: number): number {
  const ago = text === "" ? 0 : parseAgo(text);
  if (ago !== null) return newest - ago;
  if (/^\d+$/.test(text)) return Number(text);
  const at = Date.parse(text);
  return Number.isNaN(at) ? newest : at;
}
