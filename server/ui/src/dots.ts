// The profiles below the lines: a dot for each, or columns of how many there are if dots would lie on each other.

import type uPlot from "uplot";
import { useAnswer } from "./answer";
import type { Dot, Profiles } from "./api";
import { clock, many, span, text, value } from "./format";
import type { Page } from "./page";
import { stamp, type State } from "./url";

// Dots are the profiles of the chart, single ones or counts by column of the time from one to the other.
export interface Dots { all: number; unit: string; single: Dot[]; counts: number[]; from: number; to: number }

// Place is what is at a place of the chart, and the change of the state that chooses it.
interface Place { text: string; go?: Partial<State> }

export const dotsHeight = 14;
const mostDots = 300, columns = 120;

// useDots asks for the profiles of the chart. A front has none, and then nothing is shown.
export function useDots({ state: { t, q }, load, loadKey, range }: Page, from: number, to: number): Dots | undefined {
  const params = { t, q, from: stamp(Math.floor(from)), to: stamp(Math.ceil(to) + 1), rows: mostDots, pixels: columns };
  return useAnswer<Dots>(t && range.newest ? JSON.stringify([loadKey, params]) : null, async (signal) => {
    const { all, unit, profiles, counts = [], counts_from = "", counts_to = "" } = await load.askLater<Profiles>("profiles", params, signal);
    return { all, unit, single: all > profiles.length ? [] : profiles, counts, from: Date.parse(counts_from), to: Date.parse(counts_to) };
  }).data;
}

// dotsText says how many profiles there are.
export const dotsText = (d: Dots) => many(d.all, "profile") + (d.single.length || !d.all ? "" : `, by ${span((d.to - d.from) / columns)}`);

// paintDots draws them at the bottom of the chart.
export function paintDots(u: uPlot, of: Dots, colour: string) {
  const { ctx, bbox } = u, ratio = devicePixelRatio || 1, floor = bbox.top + bbox.height, most = Math.max(...of.counts);
  const x = (t: number) => u.valToPos(t, "x", true);
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left - 4, bbox.top, bbox.width + 8, bbox.height);
  ctx.clip();
  ctx.fillStyle = colour;
  ctx.globalAlpha = 0.6;
  for (const d of of.single) {
    ctx.beginPath();
    ctx.arc(x(Date.parse(d.time)), floor - 5 * ratio, 3 * ratio, 0, 7);
    ctx.fill();
  }
  if (!of.single.length) of.counts.forEach((n, i) => {
    const left = x(timeOf(of, i)), height = n ? Math.max(1.5 * ratio, n / most * dotsHeight * ratio) : 0;
    ctx.fillRect(left, floor - height, Math.max(1, x(timeOf(of, i + 1)) - left - ratio), height);
  });
  ctx.restore();
}

const timeOf = (of: Dots, column: number) => of.from + column / columns * (of.to - of.from);

// dotAt returns what is at a place of the chart, null for nothing.
export function dotAt(of: Dots, u: uPlot, left: number): Place | null {
  if (of.single.length) {
    const far = (d: Dot) => Math.abs(u.valToPos(Date.parse(d.time), "x") - left), near = of.single.filter((d) => far(d) < 6).sort((a, b) => far(a) - far(b)), d = near[0];
    if (!d) return null;
    const labels = Object.entries(d.labels).filter(([n]) => !n.startsWith("__")).map(([n, v]) => `${text(n, 40)}=${text(v, 60)}`);
    const beside = near.length > 1 ? [`${near.length - 1} more beside it`] : [];
    return { text: [`profile of ${clock(Date.parse(d.time))}`, value(d.total, of.unit), ...labels, ...beside].join("  ·  "), go: { v: "flame", q: d.selector, from: d.time, to: d.until, z: "" } };
  }
  const i = Math.floor((u.posToVal(left, "x") - of.from) / (of.to - of.from) * columns), n = of.counts[i];
  if (n === undefined) return null;
  const from = timeOf(of, i), to = timeOf(of, i + 1);
  return { text: `${many(n, "profile")} from ${clock(from)} + ${span(to - from)}`, go: n ? { from: stamp(Math.floor(from)), to: stamp(Math.ceil(to)) } : undefined };
}
