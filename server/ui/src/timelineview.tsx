// The view of stacks in order of time, on the axis of the chart and of the states.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { useAnswer } from "./answer";
import type { Head } from "./api";
import { css, fit, onColours } from "./canvas";
import { Empty } from "./empty";
import { clock, many, packageOf, span, split, text, value } from "./format";
import { rowHeight } from "./flame";
import { regular } from "./frames";
import { timeKey } from "./graphkeys";
import { Panel } from "./message";
import { details, frames, readBy, spoken, type Page } from "./page";
import { beside, runAt, runsOf, type Run, type Runs, type Timeline } from "./timeline";
import { hashText } from "./tree";
import { Search } from "./tools";
import { stamp } from "./url";

const mostColumns = 2000;

export function TimelineView({ page }: { page: Page }) {
  const { state, range } = page;
  const params = {
    t: state.t, q: state.q, from: stamp(Math.floor(range.from)), to: stamp(Math.ceil(range.to) + 1), ...frames(state), pixels: Math.min(mostColumns, Math.max(200, innerWidth)),
    ...(state.at && { h: state.h, p: state.p, attribute: state.at }),
  };
  const answer = useAnswer(state.t && range.newest ? JSON.stringify([page.loadKey, params]) : null, (signal) => page.load.ask<Timeline & Head>("timeline", params, signal));
  useEffect(() => readBy(answer.data), [answer.data]);
  return <Panel of={answer}>{(data) => (data.time.length ? <Stacks page={page} of={data} /> : <Empty.Nothing page={page} />)}</Panel>;
}

function Stacks({ page, of }: { page: Page; of: Timeline }) {
  const { state, go, range } = page, runs = useMemo(() => runsOf(of), [of]);
  const [at, setAt] = useState<Run>(() => runs.levels[0]![0]!);
  const now = runs.levels[at.depth]?.includes(at) ? at : runs.levels[0]![0]!;
  const view = { from: range.from, to: Math.max(range.to, range.from + 1) };
  const walk = (r: Run | undefined) => { if (r) { setAt(r); details.set(describe(of, r, page.unit)); } };
  const choose = (r: Run) => { go({ from: stamp(Math.floor(r.from)), to: stamp(Math.max(Math.ceil(r.to), Math.floor(r.from) + 1)), z: "" }); spoken.set("the time of " + text(of.names[r.function]!, 100)); };
  const key = (e: KeyboardEvent) => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const middle = (now.from + now.to) / 2;
    switch (e.key) {
      case "ArrowLeft": walk(beside(runs, now, -1)); break;
      case "ArrowRight": walk(beside(runs, now, 1)); break;
      case "ArrowDown": walk(runAt(runs, now.depth + 1, middle, true)); break;
      case "ArrowUp": walk(runAt(runs, Math.max(0, now.depth - 1), middle, true)); break;
      case "Home": walk(runs.levels[now.depth]![0]); break;
      case "End": walk(runs.levels[now.depth]!.at(-1)); break;
      case "Enter": choose(now); break;
      case "s": go({ v: "sandwich", fn: of.names[now.function]! }); break;
      case "u": case "Backspace": history.back(); break;
      case "/": document.querySelector<HTMLInputElement>("#search")?.select(); break;
      default: if (!timeKey(e.key, page)) return;
    }
    e.preventDefault();
  };
  return (
    <section class="right timeline" aria-label="stacks in order of time">
      <div class="tools">
        <span class="total"><b>{many(of.time.length, "column")}</b> of {span(of.step / 1e6)} with samples{runs.hidden > 0 && <>, of each the stack with most: {many(runs.hidden, "stack")} more {runs.hidden === 1 ? "is" : "are"} behind them. The selector of one source, or a click in the states of a thread, shows all of its.</>}</span>
        <span class="grow" />
        <Search page={page} />
      </div>
      <Canvas of={of} runs={runs} view={view} now={now} pattern={state.s} point={(r) => details.set(describe(of, r, page.unit))} click={(r) => { setAt(r); choose(r); }} />
      <div class="beside" role="listbox" tabIndex={0} aria-label="stacks in order of time: arrows walk, Enter chooses the time of a frame, s its callers and callees" aria-activedescendant="run-at" onKeyDown={key}>
        <div role="option" id="run-at" aria-selected="true">{describe(of, now, page.unit)}</div>
      </div>
    </section>
  );
}

// describe is the line of a run.
function describe(of: Timeline, r: Run, unit: string): string {
  return [text(of.names[r.function]!, 300), `${clock(r.from)} + ${span(r.to - r.from)}`, `${value(r.value, unit)} in ${many(r.last - r.first + 1, "column")}`].join("  ·  ");
}

interface CanvasProps { of: Timeline; runs: Runs; view: { from: number; to: number }; now: Run; pattern: string; point: (r: Run) => void; click: (r: Run) => void }

function Canvas({ of, runs, view, now, pattern, point, click }: CanvasProps) {
  const place = useRef<HTMLDivElement>(null), canvas = useRef<HTMLCanvasElement>(null), mark = useRef<HTMLDivElement>(null), axis = useRef({ left: 0, width: 1 });
  const paint = useRef(() => {});
  paint.current = () => {
    const fitted = fit(canvas.current, place.current), host = place.current;
    if (!fitted || !host) return;
    const { ctx, width, height } = fitted, own = host.getBoundingClientRect(), plot = document.querySelector(".plot .u-over")?.getBoundingClientRect();
    axis.current = plot && plot.right <= own.right + 1 && plot.width > own.width / 2 ? { left: Math.max(0, plot.left - own.left), width: plot.width } : { left: 0, width };
    draw(ctx, of, runs, { ...view, ...axis.current, top: host.scrollTop, height }, pattern);
    const x = (t: number) => axis.current.left + (t - view.from) / (view.to - view.from) * axis.current.width, m = mark.current;
    if (!m) return;
    m.style.transform = `translate(${x(now.from)}px, ${now.depth * rowHeight - host.scrollTop}px)`;
    m.style.width = Math.max(4, x(now.to) - x(now.from)) + "px";
    m.style.height = rowHeight + "px";
  };
  useLayoutEffect(() => paint.current());
  useLayoutEffect(() => {
    const host = place.current!, y = now.depth * rowHeight;
    if (y < host.scrollTop || y + rowHeight > host.scrollTop + host.clientHeight) host.scrollTop = Math.max(0, y - host.clientHeight / 2);
  }, [now]);
  useEffect(() => {
    const again = () => requestAnimationFrame(() => paint.current()), size = new ResizeObserver(again), stop = onColours(again), plot = document.querySelector(".chart");
    size.observe(place.current!);
    const follow = () => { const axis = document.querySelector(".plot .u-over"); if (axis) size.observe(axis); again(); };
    const changes = new MutationObserver(follow); // the chart is made again, and the legend beside it moves its axis
    if (plot) { size.observe(plot); changes.observe(plot, { childList: true, subtree: true }); }
    follow();
    return () => { size.disconnect(); changes.disconnect(); stop(); };
  }, []);
  const runOf = (e: MouseEvent) => {
    const r = canvas.current!.getBoundingClientRect(), depth = Math.floor((e.clientY - r.top + place.current!.scrollTop) / rowHeight);
    return runAt(runs, depth, view.from + (e.clientX - r.left - axis.current.left) / axis.current.width * (view.to - view.from));
  };
  const handle = (f: (r: Run) => void) => (e: MouseEvent) => { const r = runOf(e); if (r) f(r); };
  return (
    <div class="timeline-place" ref={place} onScroll={() => paint.current()} onPointerMove={handle(point)} onClick={handle(click)}>
      <canvas ref={canvas} aria-hidden="true" />
      <div class="spacer" ref={(el) => { if (el) el.style.height = runs.levels.length * rowHeight + "px"; }} />
      <div class="mark" ref={mark} />
    </div>
  );
}

interface Place { from: number; to: number; left: number; width: number; top: number; height: number }

// draw draws the runs in view. What is narrower than a pixel is drawn over by what follows.
function draw(ctx: CanvasRenderingContext2D, of: Timeline, runs: Runs, v: Place, pattern: string) {
  const found = regular(pattern);
  const fills = Array.from({ length: 8 }, (_, i) => css("--fill" + i)), fill = of.names.map((n) => fills[hashText(packageOf(n)) % 251 % 8]!), isHit = of.names.map((n) => found?.test(n) ?? true);
  ctx.fillStyle = css("--surface");
  ctx.fillRect(0, 0, ctx.canvas.width, ctx.canvas.height);
  ctx.save();
  ctx.beginPath();
  ctx.rect(v.left, 0, v.width, v.height);
  ctx.clip();
  ctx.font = css("--frame-font");
  ctx.textBaseline = "middle";
  const dim = css("--dim"), ink = css("--frame-ink"), faint = css("--faint"), char = ctx.measureText("M").width, x = (t: number) => v.left + (t - v.from) / (v.to - v.from) * v.width;
  for (let depth = Math.floor(v.top / rowHeight); depth < Math.min(runs.levels.length, Math.ceil((v.top + v.height) / rowHeight)); depth++) {
    const y = depth * rowHeight - v.top;
    for (const r of runs.levels[depth]!) {
      const a = Math.max(v.left, x(r.from)), b = Math.min(v.left + v.width, x(r.to));
      if (b < a) continue;
      ctx.fillStyle = isHit[r.function] ? fill[r.function]! : dim;
      ctx.fillRect(a, y, Math.max(1, b - a - (b - a > 4 ? 1 : 0)), rowHeight - 1);
      const room = Math.floor((b - a - 7) / char), name = split(text(of.names[r.function]!, 300))[1];
      if (room < 3) continue;
      ctx.fillStyle = isHit[r.function] ? ink : faint;
      ctx.fillText(name.length <= room ? name : "…" + name.slice(1 - room), a + 4, y + rowHeight / 2);
    }
  }
  ctx.restore();
}
