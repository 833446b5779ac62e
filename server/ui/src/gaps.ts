// Lines over time: their steps, and where they have gaps.

const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 86400, 604800];

// stepOf returns the length of time that a point of a line is for, in seconds.
export const stepOf = (millis: number) => steps.find((s) => s * 1000 >= millis / 120) ?? Math.ceil(millis / 120 / 1000);

// Line has a value by time. Where it has no point, null breaks it, and it is drawn over undefined.
export interface Line { name: string; label: string | null; sum: number; values: (number | null | undefined)[] }

// broken breaks each line where its points are more than 1.5 times as far apart as three of four of them are. With a profile
// in each step, of step milliseconds, a step without one is a gap. Gaps get times of their own, as there may be none in them.
export function broken(times: number[], lines: Line[], step: number): { times: number[]; lines: Line[] } {
  const ends = lines.map(({ values }) => {
    const { at, apart, most } = distances(times, values, step);
    return new Set(at.filter((_, i) => !(apart[i]! <= most))); // the last point is one
  });
  const added = ends.flatMap((e) => [...e].slice(0, -1).map((t) => t + step / 2));
  const all = [...new Set([...times, ...added])].sort((a, b) => a - b), was = new Map(times.map((t, i) => [t, i]));
  const within = ({ values }: Line, k: number) => {
    let isGap = true;
    return all.map((t) => {
      const v = values[was.get(t) ?? -1];
      if (v != null) isGap = ends[k]!.has(t);
      return v ?? (isGap ? null : undefined);
    });
  };
  return { times: all, lines: lines.map((l, k) => ({ ...l, values: within(l, k) })) };
}

// distances are how far the points of a line are apart, and from where on they are too far.
function distances(times: number[], values: Line["values"], step: number): { at: number[]; apart: number[]; most: number } {
  const at = times.filter((_, i) => values[i] != null), apart = at.slice(1).map((t, i) => t - at[i]!), sorted = apart.toSorted((a, b) => a - b);
  return { at, apart, most: 1.5 * (sorted.length > 1 ? sorted[Math.floor(0.75 * (sorted.length - 1))]! : step) };
}

const fewPoints = 8; // of which none can be spared

// perSecond returns the rates of a line of sums. A sum is for as long as points without a gap are apart on average, and for a step at least:
// a profile each minute is for a minute, however short the steps are. Where steps have several profiles, one that the range cuts has no point:
// its sum is of a part of the step, and would look like a fall. Profiles that are longer than that count in each point that they last to.
export function perSecond(times: number[], line: Line, step: number, from = -Infinity, to = Infinity, longest = 0): Line {
  const { at, apart, most } = distances(times, line.values, step), close = apart.filter((d) => d <= most);
  const length = Math.max(step, close.reduce((n, d) => n + d, 0) / (close.length || 1)) / 1000;
  const within = (i: number): number => { let sum = 0; for (let k = i; k >= 0 && times[k]! > times[i]! - longest; k--) sum += line.values[k] ?? 0; return sum; };
  if (longest > length * 1000) return { ...line, values: line.values.map((v, i) => v && within(i) / longest * 1000) };
  const isCut = (t: number) => at.length >= fewPoints && length * 1000 <= step && (t < from || t + step > to + 1);
  return { ...line, values: line.values.map((v, i) => (v && isCut(times[i]!) ? null : v && v / length)) };
}

// alone returns the points between gaps, to which no line leads.
export const alone = (values: Line["values"]) => [...values.keys()].filter((i) => values[i] != null && [i - 1, i + 1].every((k) => k < 0 || k === values.length || values[k] === null));
