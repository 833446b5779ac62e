// The view of the functions with the greatest values, and of the calls between them.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { useAnswer } from "./answer";
import type { Head, Typed } from "./api";
import { Empty } from "./empty";
import { heats } from "./flame";
import { percent, split, text, value } from "./format";
import { layers } from "./layers";
import { Panel } from "./message";
import { question, readBy, reading, type Page } from "./page";
import { Toggle } from "./tools";
import { print } from "./url";
import { Granularity } from "./viewmenu";

interface Call { caller: number; callee: number; value: number; through?: boolean }
interface CallGraph extends Head, Typed { functions: { name: string; flat: number; cum: number }[]; calls: Call[] }

const sizes = ["20", "", "60"], usual = "40", wide = 186, high = 38, gapX = 16, gapY = 44, least = 0.002;

export function CallGraphView({ page }: { page: Page }) {
  const { state, go } = page, params = { ...question(state), ...reading(state), nodes: state.nodes || usual };
  const answer = useAnswer(state.t ? JSON.stringify([page.loadKey, params]) : null, (signal) => page.load.ask<CallGraph>("callgraph", params, signal));
  const [isFit, fit] = useState(true);
  useEffect(() => readBy(answer.data), [answer.data]);
  return (
    <Panel of={answer}>
      {(of) => !of.functions.length ? <Empty.Nothing page={page} /> : (
        <section class="right whole-graph" aria-label="call graph">
          <div class="tools">
            <span class="total"><b>{value(of.total[0]!, of.unit)}</b> {of.sample_type}</span>
            <Granularity page={page} />
            <select aria-label="functions" value={state.nodes} onChange={(e) => go({ nodes: e.currentTarget.value })}>{sizes.map((n) => <option value={n} key={n}>the {n || usual} largest</option>)}</select>
            <Toggle isOn={isFit} set={fit} what="fit to the width" />
          </div>
          <Drawing page={page} of={of} isFit={isFit} />
          <p class="left-out">A box has its own value of its total, which is with all that it calls. The colour is by its own value. A dashed line goes through functions that are not shown. Lines of less than {100 * least} % of all are left out.</p>
        </section>
      )}
    </Panel>
  );
}

function Drawing({ page: { state, go }, of, isFit }: { page: Page; of: CallGraph; isFit: boolean }) {
  const all = of.total[0]!, calls = useMemo(() => of.calls.filter((c) => c.caller !== c.callee && c.value >= least * all), [of]);
  const at = useMemo(() => layers(of.functions.length, calls.map((c) => ({ from: c.caller, to: c.callee }))), [of]);
  const [hot, setHot] = useState(-1), place = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => { // where it is wider than the window, its top is in the middle
    const el = place.current!, top = el.querySelectorAll("a")[Math.max(0, at.row.indexOf(0))]?.getBoundingClientRect();
    if (top) el.scrollLeft += top.left + top.width / 2 - el.getBoundingClientRect().left - el.clientWidth / 2;
  }, [at, isFit]);
  const stepX = wide + gapX, stepY = high + gapY, x = (column: number) => column * stepX, y = (row: number) => row * stepY + 4, width = at.columns * stepX, height = at.rows * stepY - gapY + 8;
  const show = (v: number) => value(v, of.unit);
  const way = (c: Call, i: number) => {
    const isUp = at.row[c.caller]! > at.row[c.callee]!, node = (n: number, isTop: boolean): [number, number] => [x(at.x[n]!), y(at.row[n]!) + (isTop ? 0 : high)];
    const points = [node(c.caller, isUp), ...at.ways[i]!.map(([cx, r]): [number, number] => [x(cx), y(r) + high / 2]), node(c.callee, !isUp)];
    const path = points.slice(1).map(([px, py], k) => { const [qx, qy] = points[k]!, m = (qy + py) / 2; return `C${qx},${m} ${px},${m} ${px},${py}`; }).join("");
    const [a, b] = [points[(points.length - 1) >> 1]!, points[((points.length - 1) >> 1) + 1]!];
    return { path: `M${points[0]![0]},${points[0]![1]}` + path, label: [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2 + 3] as const };
  };
  const around = (i: number) => {
    const part = (what: string, some: Call[], end: (c: Call) => number) => (some.length ? `, ${what} ${some.map((c) => `${text(of.functions[end(c)]!.name, 80)} ${show(c.value)}`).join(", ")}` : "");
    return part("called by", calls.filter((c) => c.callee === i), (c) => c.caller) + part("calls", calls.filter((c) => c.caller === i), (c) => c.callee);
  };
  const isHot = (c: Call) => c.caller === hot || c.callee === hot;
  return (
    <div class="call-graph" ref={place} role="group" aria-label="functions, the largest first: links to their callers and callees">
      <svg viewBox={`0 0 ${width} ${height}`} width={isFit ? undefined : width} height={isFit ? undefined : height} class={(isFit ? "fit" : "") + (hot >= 0 ? " has-hot" : "")} ref={(el) => { if (!el) return;
        el.style.maxWidth = isFit ? 1.3 * width + "px" : "";
        el.style.minWidth = isFit ? 0.65 * width + "px" : ""; // smaller texts are not read
      }}>
        <defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="9" markerHeight="9" markerUnits="userSpaceOnUse" orient="auto"><path d="M0,0 L8,4 L0,8 z" /></marker></defs>
        <g aria-hidden="true">
          {calls.map((c, i) => { const { path } = way(c, i); return <path class={"call" + (isHot(c) ? " hot" : "")} key={c.caller + " " + c.callee} d={path} stroke-width={1 + 7 * c.value / all} stroke-dasharray={c.through ? "5 4" : undefined} marker-end="url(#arrow)" />; })}
          {calls.map((c, i) => { const { label: [lx, ly] } = way(c, i); return <text class={"call-value" + (isHot(c) ? " hot" : "")} key={c.caller + " " + c.callee} x={lx} y={ly}>{show(c.value)}</text>; })}
        </g>
        {of.functions.map((f, i) => (
          <a key={f.name} href={print({ ...state, v: "sandwich", fn: f.name })} class={"call-node heat" + heats.filter((h) => f.flat >= h * all).length}
            onPointerEnter={() => setHot(i)} onPointerLeave={() => setHot(-1)} onFocus={() => setHot(i)} onBlur={() => setHot(-1)}
            onClick={(e) => { if (e.ctrlKey || e.metaKey || e.shiftKey) return; e.preventDefault(); go({ v: "sandwich", fn: f.name }); }}>
            <title>{`${text(f.name)}\nown ${show(f.flat)}, ${percent(f.flat, all)}, in all ${show(f.cum)}, ${percent(f.cum, all)}${around(i)}`}</title>
            <rect x={x(at.x[i]!) - wide / 2} y={y(at.row[i]!)} width={wide} height={high} rx="4" />
            <text x={x(at.x[i]!)} y={y(at.row[i]!) + 15} class="call-name">{ending(f.name)}</text>
            <text x={x(at.x[i]!)} y={y(at.row[i]!) + 30}>{show(f.flat)} of {show(f.cum)} · {percent(f.cum, all)}</text>
          </a>
        ))}
      </svg>
    </div>
  );
}

const mostChars = 25;

// ending returns the end of a name that fits into a node, without its folder.
function ending(name: string): string {
  const short = text(split(name)[1].replace(/\[.*\]/, "[…]"), 200);
  return short.length <= mostChars ? short : "…" + short.slice(1 - mostChars);
}
