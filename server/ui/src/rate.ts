// Values for each second.

import { value } from "./format";

// rated formats a value of a unit for each second: of CPU time it is cores.
export function rated(v: number, unit: string, sampleType: string): string {
  const nanos = { nanoseconds: 1, microseconds: 1e3, milliseconds: 1e6, seconds: 1e9 }[unit], size = Math.abs(v);
  if (nanos && sampleType === "cpu" && (size * nanos >= 1e6 || !v)) return ((v * nanos) / 1e9).toLocaleString("en", size * nanos < 10e9 ? { maximumFractionDigits: 3 } : { maximumSignificantDigits: 3 }) + " cores";
  if (!nanos && unit !== "bytes" && size < 100) return digits(v) + (unit === "count" || !unit ? "/s" : ` ${unit}/s`);
  return value(v, unit) + "/s";
}

const digits = (v: number) => v.toLocaleString("en", { maximumSignificantDigits: 3 });
