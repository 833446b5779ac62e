// Times as people type them, in the grammar of package timetext: what it refuses, the page refuses before it asks.

import { inZone } from "./format";
import { parseAgo, readTime } from "./url";

const most = 9223372036854.775; // milliseconds of 64 bits of nanoseconds

// forms are what can be written instead of a time that is none.
export const forms = "Write 3h, -1h, now-1h or latest-1h (units ns us ms s m h d w), 2026-11-29, 2026-11-29 14:00, or a Unix time.";

// isTime reports whether a text is a time.
export function isTime(typed: string): boolean {
  const ago = parseAgo(typed);
  if (ago) return ago.millis <= most;
  if (/^(\d{10}(\.\d+)?|\d{13}|\d{16}|\d{19})$/.test(typed)) {
    const digits = typed.split(".")[0]!;
    return digits.length === 19 ? BigInt(digits) <= 9223372036854775807n : Number(digits) * 10 ** (13 - digits.length) <= most;
  }
  const parts = /^(\d{4})-(\d\d)-(\d\d)(?:[T ]([01]\d|2[0-3]):[0-5]\d(:[0-5]\d([.,]\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)?)?)?$/.exec(typed);
  if (!parts) return false;
  const at = new Date(Date.UTC(Number(parts[1]), Number(parts[2]) - 1, Number(parts[3])));
  return at.getUTCMonth() === Number(parts[2]) - 1 && at.getUTCDate() === Number(parts[3]) && Math.abs(at.getTime()) < most - 864e5;
}

// trouble says what is wrong with a time that was typed, and what to write instead; "" if it is one.
export const trouble = (typed: string) => (typed === "" || isTime(typed) ? "" : `This is no time. ${forms}`);

const day = 864e5;

// dateOf returns the date of the zone some days before a time.
const dateOf = (millis: number, daysBefore = 0) => inZone(millis - daysBefore * day).slice(0, 10);

// days are the presets of whole days, as the fields from and to.
export function days(now: number): [name: string, from: string, to: string][] {
  const weekday = (new Date(dateOf(now) + "T00:00Z").getUTCDay() + 6) % 7;
  return [["today", readTime(dateOf(now)), ""], ["yesterday", readTime(dateOf(now, 1)), readTime(dateOf(now))], ["this week", readTime(dateOf(now, weekday)), ""]];
}
