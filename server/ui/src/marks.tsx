// Marks on the chart: annotations, and versions that came.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type uPlot from "uplot";
import { useAnswer } from "./answer";
import { get } from "./api";
import { clock, many, span, text } from "./format";
import { useOutside, walkMenu } from "./events";
import type { Page } from "./page";
import { stepOf } from "./gaps";
import { useVersions } from "./versions";
import { stamp, type State } from "./url";

// Mark is a time, or a range of it, with a text.
export interface Mark { at: number; until?: number; text: string }

interface Annotation { time: string; until?: string; text: string; labels?: Record<string, string> }

// useMarks asks for the marks of the chart, after its first answer. A front has no annotations.
export function useMarks(page: Page, from: number, to: number): Mark[] {
  const { state, load, loadKey, range } = page, params = { q: state.q, from: stamp(Math.floor(from)), to: stamp(Math.ceil(to) + 1) };
  const notes = useAnswer<Annotation[]>(range.newest ? JSON.stringify([loadKey, params]) : null, async (signal) => {
    await load.afterFirst(signal);
    if (!load.commit) return [];
    return (await get<{ annotations: Annotation[] }>("api/v1/annotations", params, signal)).annotations;
  }).data;
  const versions = useVersions(page, from, to);
  return useMemo(() => {
    const late = from + 1500 * stepOf(to - from); // one that is there at the start did not come
    const came = versions.filter((v) => v.first > late).map((v): Mark => ({ at: v.first, text: `${v.label} ${v.value}` }));
    return [...came, ...(notes ?? []).map((n): Mark => ({ at: Date.parse(n.time), until: n.until ? Date.parse(n.until) : undefined, text: n.text }))].sort((a, b) => a.at - b.at);
  }, [versions, notes, from, to]);
}

export const flagHeight = 12;

// paintMarks draws a thin line with a flag at its top for each.
export function paintMarks(u: uPlot, marks: Mark[], colour: string) {
  const { ctx, bbox } = u, ratio = devicePixelRatio || 1;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left - 1, bbox.top, bbox.width + 2, bbox.height);
  ctx.clip();
  ctx.fillStyle = ctx.strokeStyle = colour;
  for (const m of marks) {
    const x = Math.round(u.valToPos(m.at, "x", true)) + 0.5;
    if (m.until) {
      ctx.globalAlpha = 0.12;
      ctx.fillRect(x, bbox.top, u.valToPos(m.until, "x", true) - x, bbox.height);
      ctx.globalAlpha = 1;
    }
    ctx.lineWidth = ratio;
    ctx.setLineDash([3 * ratio, 3 * ratio]);
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    ctx.setLineDash([]);
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x + 9 * ratio, bbox.top + flagHeight / 2 * ratio);
    ctx.lineTo(x, bbox.top + flagHeight * ratio);
    ctx.fill();
  }
  ctx.restore();
}

// markAt returns the mark whose line or flag is at a place of the chart.
export function markAt(marks: Mark[], u: uPlot, left: number, top: number): Mark | undefined {
  const isFlag = top <= flagHeight + 2;
  return marks.findLast((m) => { const d = left - u.valToPos(m.at, "x"); return d >= -3 && d <= (isFlag ? 10 : 3); });
}

export const markText = (m: Mark) => `${clock(m.at)}${m.until ? " + " + span(m.until - m.at) : ""}: ${text(m.text, 200)}`;

// around compares as much time after a mark with what is before it, as far as the chart goes.
export function around(m: Mark, from: number, to: number): Partial<State> {
  const end = m.until ?? m.at, length = Math.max(6e4, Math.min(m.at - from, to - end));
  return { v: "difference", bfrom: stamp(Math.floor(m.at - length)), bto: stamp(Math.floor(m.at)), from: stamp(Math.ceil(end)), to: stamp(Math.ceil(end + length)), bq: "", z: "" };
}

// MarksMenu has the texts of the marks for keys and for screen readers. Each is the way to its difference.
export function MarksMenu({ page: { go }, marks, from, to }: { page: Page; marks: Mark[]; from: number; to: number }) {
  const [isOpen, open] = useState(false), place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (isOpen) place.current?.querySelector<HTMLElement>("[role=menuitem]")?.focus();
  }, [isOpen]);
  useOutside(isOpen, place, () => open(false));
  if (!marks.length) return null;
  return (
    <div class="marks" ref={place} onKeyDown={(e) => isOpen && walkMenu(e, place.current!, () => open(false))}>
      <button type="button" aria-haspopup="menu" aria-expanded={isOpen} onClick={() => open(!isOpen)}>⚑ {many(marks.length, "mark")}</button>
      {isOpen && (
        <div class="menu" role="menu" aria-label="marks: compare before and after">
          {marks.map((m, i) => <button type="button" role="menuitem" key={i} title="compare before and after" onClick={() => { open(false); go(around(m, from, to)); }}>{markText(m)} <small>compare before and after</small></button>)}
        </div>
      )}
    </div>
  );
}
