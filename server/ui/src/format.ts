// How numbers, times and names are shown.

type Step = [name: string, size: number];
const timeSteps: Step[] = [["ns", 1], ["us", 1e3], ["ms", 1e6], ["s", 1e9], ["min", 60e9], ["h", 3600e9]];
const byteSteps: Step[] = [["B", 1], ["KiB", 2 ** 10], ["MiB", 2 ** 20], ["GiB", 2 ** 30], ["TiB", 2 ** 40], ["PiB", 2 ** 50]];
const timeUnits: Record<string, number> = { nanoseconds: 1, microseconds: 1e3, milliseconds: 1e6, seconds: 1e9 };

// value formats a value of a unit by the rules of profile.FormatValue, whose golden file it passes.
export function value(v: number, unit: string): string {
  const scale = timeUnits[unit];
  if (scale) return scaled(v * scale, timeSteps);
  if (unit === "bytes") return scaled(v, byteSteps);
  return grouped(String(Math.round(v))) + (unit === "" || unit === "count" ? "" : " " + unit);
}

// rated formats a value of a unit for each second: of CPU time it is cores.
export function rated(v: number, unit: string, sampleType: string): string {
  const nanos = Math.abs(v) * (timeUnits[unit] ?? NaN), figures = (v: number, of: Intl.NumberFormatOptions) => v.toLocaleString("en", of);
  if (sampleType === "cpu" && (nanos >= 1e6 || nanos === 0)) return figures(Math.sign(v) * nanos / 1e9, nanos < 10e9 ? { maximumFractionDigits: 3 } : { maximumSignificantDigits: 3 }) + " cores";
  if (!timeUnits[unit] && unit !== "bytes" && Math.abs(v) < 100) return figures(v, { maximumSignificantDigits: 3 }) + (unit === "count" || !unit ? "/s" : ` ${unit}/s`);
  return value(v, unit) + "/s";
}

function scaled(v: number, steps: Step[]): string {
  const magnitude = Math.abs(v);
  for (let i = 0; i < steps.length; i++) {
    const [name, size] = steps[i]!;
    const digits = threeDigits(magnitude / size);
    if (i + 1 < steps.length && Number(digits) * size >= steps[i + 1]![1]) continue; // 999.9 ms is 1 s
    return grouped((v < 0 ? "-" : "") + digits) + " " + name;
  }
  return "";
}

function threeDigits(v: number): string {
  const decimals = v < 10 ? 2 : v < 100 ? 1 : 0;
  const digits = fixed(v, decimals);
  return decimals ? digits.replace(/\.?0+$/, "") : digits;
}

// fixed is toFixed, but a tie goes to the even digit, as in Go.
function fixed(v: number, decimals: number): string {
  const shifted = v * 10 ** decimals, below = Math.floor(shifted);
  const isTie = Number.isInteger(v * 8) && shifted - below === 0.5;
  return isTie && below % 2 === 0 ? (below / 10 ** decimals).toFixed(decimals) : v.toFixed(decimals);
}

function grouped(number: string): string {
  const [whole, fraction] = number.split(".");
  return whole!.replace(/\B(?=(\d{3})+$)/g, ",") + (fraction ? "." + fraction : "");
}

// count formats a whole number, and many one with its noun.
export const count = (n: number) => n.toLocaleString("en");
export const many = (n: number, noun: string) => `${count(n)} ${noun}${n === 1 ? "" : "s"}`;

// percent formats a part of a whole.
export function percent(part: number, whole: number): string {
  if (!whole) return "0 %";
  const p = (100 * part) / whole, size = Math.abs(p);
  return (size >= 99.95 ? p.toFixed(0) : size >= 1 || p === 0 ? p.toFixed(1) : size >= 0.005 ? p.toFixed(2) : "< 0.01").replace(/\.0+$/, "") + " %";
}

// change formats a change with its sign, as percent of the value before.
export function change(before: number, after: number): string {
  if (before === after) return "±0 %";
  if (!before) return "new";
  if (!after) return "gone";
  return (after > before ? "+" : "−") + percent(Math.abs(after - before), before);
}

// signed formats a difference of two values, with its sign.
export const signed = (d: number, unit: string) => (d > 0 ? "+" : d < 0 ? "−" : "") + value(Math.abs(d), unit);

// Characters that are not seen, or that turn the order of others: they are shown as their numbers.
const unseen = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

// text returns a name as it can be shown: at most `most` characters, of a longer one its end.
export function text(name: string, most = 300): string {
  const cut = name.length > most ? "…" + name.slice(-most) : name;
  return cut.replace(unseen, (c) => "<U+" + c.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0") + ">");
}

// split returns a name as its folder, which can be left out, and the rest.
export function split(name: string): [folder: string, rest: string] {
  const end = name.search(/[(\[{< ]/), at = name.lastIndexOf("/", end < 0 ? undefined : end) + 1;
  return [name.slice(0, at), name.slice(at)];
}

// packageOf returns the package of a function's name: of a Go name all before the first dot after its folder.
export function packageOf(name: string): string {
  const [folder, rest] = split(name);
  const dot = rest.search(/\.|::/);
  return dot > 0 ? folder + rest.slice(0, dot) : folder || name;
}

// zone is how all times are shown: in UTC, or as local ones.
export const zone = { isUTC: false };

// inZone returns a time of the zone as text: 2026-11-23T10:00:00.000, and nothing for a time that is none.
export function inZone(millis: number): string {
  const at = new Date(zone.isUTC ? millis : millis - new Date(millis).getTimezoneOffset() * 6e4);
  return Number.isNaN(at.getTime()) ? "" : at.toISOString().slice(0, -1);
}

// clock formats a time of day, with its date if that is not the date of another time.
export function clock(millis: number, beside = Date.now()): string {
  const at = inZone(millis), date = at.slice(0, 10), time = at.slice(11, 19);
  return date === inZone(beside).slice(0, 10) ? time : date + " " + time;
}

// tick is the text of a time on the axis, which has a line every step milliseconds.
export function tick(t: number, step: number): string {
  const at = inZone(t), digits = step % 10 ? 23 : step % 100 ? 22 : step % 1000 ? 21 : step < 6e4 ? 19 : 16;
  return step >= 864e5 || +at.slice(11).replace(/\D/g, "") === 0 ? new Date(at + "Z").toLocaleDateString("en", { month: "short", day: "numeric", timeZone: "UTC" }) : at.slice(11, digits);
}

// span formats a length of time.
export const span = (millis: number) => value(millis, "milliseconds");
