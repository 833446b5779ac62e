// Stacks in order of time, as runs of frames at each depth.

import { place, type Level } from "./tree";

// Timeline is the answer of the server: of columns of step nanoseconds the stack with the greatest value, as nodes.
export interface Timeline { sample_type: string; unit: string; step: number; time: string[]; node: number[]; value: number[]; total: number[]; stacks: number[]; parent: number[]; function: number[]; names: string[] }

// Run is a frame for as long as it is there: columns from first to last.
export interface Run { node: number; function: number; depth: number; from: number; to: number; value: number; first: number; last: number }

// Runs are the frames by depth, in order of time.
export interface Runs { levels: Run[][]; byTime: Level[]; hidden: number }

// runsOf joins equal frames of columns beside each other. A column lasts to the next one, unless that is later than usual: a time
// without samples is a gap.
export function runsOf(of: Timeline): Runs {
  const starts = of.time.map((t) => Date.parse(t)), step = of.step / 1e6, apart = starts.slice(1).map((t, i) => t - starts[i]!);
  const sorted = apart.toSorted((a, b) => a - b), usual = sorted.length ? sorted[Math.floor(0.75 * (sorted.length - 1))]! : step;
  const levels: Run[][] = [];
  let hidden = 0;
  starts.forEach((from, i) => {
    const next = apart[i] ?? Infinity, to = from + (next <= 1.5 * usual ? next : Math.max(step, Math.min(usual, next)));
    const path: number[] = [];
    for (let n = of.node[i]!; n >= 0; n = of.parent[n]!) path.push(n);
    path.reverse().forEach((node, depth) => {
      const level = (levels[depth] ??= []), last = level.at(-1);
      if (last && last.node === node && last.last === i - 1 && from - last.to < 1e-3) {
        last.to = to;
        last.last = i;
        last.value += of.value[i]!;
      } else level.push({ node, function: of.function[node]!, depth, from, to, value: of.value[i]!, first: i, last: i });
    });
    hidden += of.stacks[i]! - 1;
  });
  const byTime = levels.map((l): Level => ({ id: Int32Array.from(l, (_, i) => i), x: Float64Array.from(l, (r) => r.from), w: Float64Array.from(l, (r) => r.to - r.from) }));
  return { levels, byTime, hidden };
}

// runAt returns the run of a depth at a time, or the next one with isNear; undefined for none.
export function runAt(of: Runs, depth: number, time: number, isNear = false): Run | undefined {
  const level = of.levels[depth];
  if (!level?.length) return undefined;
  const i = place(of.byTime[depth]!, time), found = level[Math.min(i, level.length - 1)]!;
  return isNear || (time >= found.from && time < found.to) ? found : undefined;
}

// beside returns the run before or after another one of its depth.
export function beside(of: Runs, r: Run, by: number): Run {
  const level = of.levels[r.depth]!;
  return level[Math.max(0, Math.min(level.length - 1, level.indexOf(r) + by))]!;
}
