// The states above the samples: a time graph on the axis of the chart. A click chooses a span.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { useAnswer } from "./answer";
import { querier, type Head } from "./api";
import { css, fit, onColours } from "./canvas";
import { clock, many, span, text, value } from "./format";
import { Failed } from "./message";
import { timeKey } from "./graphkeys";
import { details, labelRange, spoken, type Page } from "./page";
import { fillOf, group, isOf, noun, type History, type Interval, type Pixels } from "./states";
import { arrows, chips, dots, Options, rowOptions } from "./statesoptions";
import { image, paint, runAt, xOf, type Colours, type Frame } from "./statespaint";
import { millisOf, nothing, stamp } from "./url";

const rowHeight = 13, mostSeen = 8, pageRows = 200;

export function StatesRow({ page, histories, paths }: { page: Page; histories: History[]; paths: string[] }) {
  const { state, go, range } = page, [offset, setOffset] = useState(0);
  const width = usePlotWidth();
  const params = { p: state.p, from: stamp(range.from), to: stamp(Math.max(range.to, range.from + 1) + 1), pixels: Math.min(4096, width), rows: pageRows, offset, ...rowOptions(page) };
  const key = state.p && range.newest && width ? JSON.stringify([state.h, params]) : null;
  const answer = useAnswer<Pixels>(key, (signal) => page.load.ask<Pixels>(`histories/${encodeURIComponent(state.h)}/pixels`, params, signal));
  useEffect(() => setOffset(0), [state.h, state.p, state.rf, state.ro]);
  const of = answer.data;
  return (
    <section class={"states" + (answer.isOld ? " old" : "")} aria-label="states over time" aria-busy={answer.isOld}>
      <div class="tools">
        <b>states</b>
        {histories.length > 1 && <select aria-label="history" value={state.h} onChange={(e) => go({ h: e.currentTarget.value, p: "", ...nothing })}>{histories.map((h) => <option key={h.name}>{h.name}</option>)}</select>}
        <PathField page={page} paths={paths} />
        {of && <Key of={of} />}
        <span class="grow" />
        {of && <Short page={page} of={of} />}
        <Options page={page} of={of} />
        {of && <Count page={page} of={of} set={setOffset} />}
      </div>
      {answer.error ? <Failed of={answer} /> : of && !of.rows.length ? <p class="none">{of.all ? "No more attributes." : `No attribute of ${text(state.p, 80)} ${state.rf ? "that is found" : ""} has a state in this range.`}</p> : of && <Rows page={page} of={of} key={state.h + state.p} />}
    </section>
  );
}

// PathField is the path of attributes, and offers the paths of the history.
function PathField({ page: { state, go }, paths }: { page: Page; paths: string[] }) {
  return (
    <span class="field">
      <input class="path" aria-label="path of attributes" list="paths" spellcheck={false} value={state.p} key={state.p} onChange={(e) => go({ p: e.currentTarget.value.trim(), ...nothing })} />
      <datalist id="paths">{paths.map((p) => <option value={p} key={p} />)}</datalist>
    </span>
  );
}

// Key says what colours stand for.
function Key({ of }: { of: Pixels }) {
  const names = [...new Set(of.states.filter((s) => fillOf(s.state) >= 0).map((s) => group(s.state)))];
  return <span class="state-key">{names.slice(0, 6).map((n) => <span key={n}><i class={"fill fill" + fillOf(n)} aria-hidden="true" />{text(n, 24)}</span>)}{names.length > 6 && <small>and {names.length - 6} more</small>}</span>;
}

// Short leads to the time of a history that is a small part of what is seen, such as a trace of some seconds in an hour.
function Short({ page: { go, range, history }, of }: { page: Page; of: Pixels }) {
  const { first = of.from, end = of.to } = history ?? {}, length = millisOf(end) - millisOf(first);
  return length > 0 && length < (range.to - range.from) / 10 ? <button type="button" onClick={() => go({ from: first, to: end })}>show its {span(length)}</button> : null;
}

function Count({ page: { state }, of, set }: { page: Page; of: Pixels; set: (offset: number) => void }) {
  const last = of.offset + of.rows.filter((r) => !r.level).length;
  return (
    <span class="muted">
      {of.offset > 0 && <button type="button" class="quiet" onClick={() => set(Math.max(0, of.offset - pageRows))}>‹ {pageRows} before</button>}
      {of.offset > 0 || last < of.all ? `${of.offset + 1} to ${last} of ${of.all.toLocaleString("en")}` : many(of.all, noun(state.p))}{of.all > 1 && (state.ro.includes("w") ? " by longest wait" : " by changes")}
      {last < of.all && <button type="button" class="quiet" onClick={() => set(last)}>{Math.min(pageRows, of.all - last)} more ›</button>}
    </span>
  );
}

// usePlotWidth returns the width of the chart's axis in pixels.
function usePlotWidth(): number {
  const [width, set] = useState(0);
  useEffect(() => {
    const plot = document.querySelector(".plot");
    if (!plot) return set(1000);
    const measure = () => set(Math.max(100, Math.round((plot.querySelector(".u-over") ?? plot).clientWidth * (devicePixelRatio || 1) / 50) * 50));
    const size = new ResizeObserver(() => requestAnimationFrame(measure));
    size.observe(plot);
    measure();
    return () => size.disconnect();
  }, []);
  return width;
}

const colours = (): Colours => ({ fills: Array.from({ length: 8 }, (_, i) => css("--state" + i)), surface: css("--surface"), rule: css("--rule"), muted: css("--muted"), strong: css("--strong") });

// Place is a row and a pixel of it.
interface Place { row: number; pixel: number }

function Rows({ page, of }: { page: Page; of: Pixels }) {
  const { state, range } = page;
  const host = useRef<HTMLDivElement>(null), scroll = useRef<HTMLDivElement>(null), canvas = useRef<HTMLCanvasElement>(null), mark = useRef<HTMLDivElement>(null);
  const frame = useRef<Frame>({ from: 0, to: 1, left: 0, width: 1, rowHeight, top: 0, height: 0 });
  const picture = useRef<{ of: Pixels; key: string; image: HTMLCanvasElement } | null>(null);
  const [at, setAt] = useState<Place>({ row: 0, pixel: Math.floor(of.pixels / 2) });
  const safe = { row: Math.min(at.row, of.rows.length - 1), pixel: Math.min(at.pixel, of.pixels - 1) };
  const again = useRef(() => {});
  again.current = () => {
    const fitted = fit(canvas.current, scroll.current), place = scroll.current;
    if (!fitted || !place) return;
    const { ctx, width, height } = fitted, own = place.getBoundingClientRect(), axis = document.querySelector(".plot .u-over")?.getBoundingClientRect();
    const all = colours(), key = state.st + all.surface + all.fills.join();
    if (picture.current?.of !== of || picture.current.key !== key) picture.current = { of, key, image: image(of, all, state.st) };
    frame.current = { from: range.from, to: Math.max(range.to, range.from + 1), left: axis ? axis.left - own.left : 0, width: axis ? axis.width : width, rowHeight, top: place.scrollTop, height };
    paint(ctx, of, picture.current.image, frame.current, all);
    names(ctx, of, state.p, frame.current, all);
    dots(ctx, of, frame.current, all);
    arrows(ctx, of, frame.current, all);
    chips(ctx, of, frame.current, all);
    outline(mark.current, of, frame.current, safe);
  };
  useLayoutEffect(() => again.current());
  useEffect(() => {
    const soon = () => requestAnimationFrame(() => again.current());
    const size = new ResizeObserver(soon), stop = onColours(soon), plot = document.querySelector(".chart");
    size.observe(scroll.current!);
    const changes = new MutationObserver(soon); // the legend beside the chart moves its axis
    if (plot) { size.observe(plot); changes.observe(plot, { childList: true, subtree: true }); }
    return () => { size.disconnect(); changes.disconnect(); stop(); };
  }, []);
  const placeOf = (e: MouseEvent): Place | null => {
    const r = canvas.current!.getBoundingClientRect(), f = frame.current, row = Math.floor((e.clientY - r.top + f.top) / rowHeight);
    const a = xOf(f, millisOf(of.from)), b = xOf(f, millisOf(of.to)), pixel = Math.floor((e.clientX - r.left - a) / Math.max(1, b - a) * of.pixels);
    return row >= 0 && row < of.rows.length && pixel >= 0 && pixel < of.pixels ? { row, pixel } : null;
  };
  const point = (e: PointerEvent) => { const p = placeOf(e); if (p) details.set(describe(of, p)); };
  const choose = (p: Place) => void chooseSpan(page, of, p);
  const click = (e: MouseEvent) => { const p = placeOf(e); if (p) { setAt(p); choose(p); } };
  const walk = (p: Place) => { setAt(p); details.set(describe(of, p)); };
  const key = (e: KeyboardEvent) => { if (rowsKey(e, page, of, safe, walk, choose)) e.preventDefault(); };
  const tallest = useRef(0), rows = (tallest.current = Math.max(tallest.current, Math.min(of.rows.length, mostSeen))); // a click moves nothing
  useEffect(() => {
    const el = scroll.current, y = safe.row * rowHeight;
    if (el && (y < el.scrollTop || y + rowHeight > el.scrollTop + el.clientHeight)) el.scrollTop = Math.max(0, y - el.clientHeight / 2);
  }, [safe.row]);
  return (
    <div class="state-place" ref={host}>
      <div class="state-rows" ref={(el) => { scroll.current = el; if (el) el.style.height = rows * rowHeight + 2 + "px"; }} onScroll={() => again.current()} onPointerMove={point} onClick={click}>
        <canvas ref={canvas} aria-hidden="true" />
        <div class="spacer" ref={(el) => { if (el) el.style.height = of.rows.length * rowHeight + "px"; }} />
        <div class="mark" ref={mark} />
      </div>
      <div class="beside" role="listbox" tabIndex={0} aria-label="states: arrows walk, Enter chooses a span" aria-activedescendant="state-at" onKeyDown={key}>
        <div role="option" id="state-at" aria-selected="true">{describe(of, safe)}</div>
      </div>
      <Beside of={of} />
    </div>
  );
}

// names writes the ends of the attributes' names before their rows, but no number of a place where the goroutine has another.
function names(ctx: CanvasRenderingContext2D, of: Pixels, path: string, f: Frame, all: Colours) {
  if (f.left < 30) return;
  const common = path.slice(0, path.slice(0, path.indexOf("{")).lastIndexOf("/") + 1);
  ctx.fillStyle = all.muted;
  ctx.font = "10.5px system-ui, sans-serif";
  ctx.textAlign = "right";
  const first = Math.floor(f.top / rowHeight), last = Math.min(of.rows.length, Math.ceil((f.top + f.height) / rowHeight));
  for (let y = first; y < last; y++) if (!of.rows[y]!.level && !of.rows[y]!.name?.startsWith("goroutine ")) ctx.fillText(ending(of.rows[y]!.attribute, common, Math.floor(f.left / 6.4)), f.left - 6, y * rowHeight - f.top + 10);
  ctx.textAlign = "left";
}

// ending returns the end of a path that fits, without what all rows have in common.
function ending(path: string, common: string, chars: number): string {
  const shown = text(path.startsWith(common) ? path.slice(common.length) : path, 200);
  return shown.length <= chars ? shown : "…" + shown.slice(shown.length - chars + 1);
}

// outline marks the run that keys are at.
function outline(el: HTMLElement | null, of: Pixels, f: Frame, p: Place) {
  if (!el || !of.rows.length) return;
  const row = of.rows[p.row]!, run = runAt(row.first, p.pixel), a = xOf(f, millisOf(of.from)), b = xOf(f, millisOf(of.to));
  const x = (pixel: number) => a + pixel / of.pixels * (b - a), left = x(row.first[run]!), right = x(row.first[run + 1] ?? of.pixels);
  el.style.transform = `translate(${left}px, ${p.row * rowHeight - f.top}px)`;
  el.style.width = Math.max(4, right - left) + "px";
  el.style.height = rowHeight + "px";
}

// timeOf returns the time of a pixel's start, in milliseconds.
const timeOf = (of: Pixels, pixel: number) => millisOf(of.from) + (millisOf(of.to) - millisOf(of.from)) * pixel / of.pixels;

// describe is the line of a place: its attribute, state, share and time.
function describe(of: Pixels, p: Place): string {
  const row = of.rows[p.row]!, run = runAt(row.first, p.pixel), first = row.first[run]!, last = row.first[run + 1] ?? of.pixels;
  const parts = [text(row.attribute, 120) + (row.name ? " " + text(row.name, 80) : ""), text(of.states[row.state[run]!]!.state, 80) + (row.sampled ? " in the middle of the pixels" : ` ${row.share?.[run] ?? 100} % of the time`)];
  parts.push(`${clock(timeOf(of, first))} + ${span(timeOf(of, last) - timeOf(of, first))}`);
  if (row.wait_ns) parts.push(`longest wait ${value(row.wait_ns, "nanoseconds")}`);
  const wakes = of.wakes?.filter((w) => w.row === p.row && w.pixel >= first && w.pixel < last) ?? [];
  if (wakes.length) parts.push("woken by " + text(wakes.slice(0, 3).map((w) => w.by || "a timer, the network or the system").join(", "), 120));
  return parts.join("  ·  ");
}

// rowsKey does what a key says, and reports whether it says something.
function rowsKey(e: KeyboardEvent, page: Page, of: Pixels, p: Place, walk: (p: Place) => void, choose: (p: Place) => void): boolean {
  if (e.ctrlKey || e.metaKey || e.altKey) return false;
  const row = of.rows[p.row]!, run = runAt(row.first, p.pixel);
  switch (e.key) {
    case "ArrowUp": walk({ ...p, row: Math.max(0, p.row - 1) }); break;
    case "ArrowDown": walk({ ...p, row: Math.min(of.rows.length - 1, p.row + 1) }); break;
    case "ArrowLeft": walk({ ...p, pixel: row.first[Math.max(0, run - 1)]! }); break;
    case "ArrowRight": walk({ ...p, pixel: row.first[Math.min(row.first.length - 1, run + 1)]! }); break;
    case "Home": walk({ ...p, pixel: 0 }); break;
    case "End": walk({ ...p, pixel: of.pixels - 1 }); break;
    case "Enter": choose(p); break;
    case "m": page.go({ v: "states", at: row.attribute, st: of.states[row.state[run]!]!.state, ns: "", mw: "1" }); break;
    case "Escape": page.go(nothing); break;
    case "u": history.back(); break;
    default: return timeKey(e.key, page);
  }
  return true;
}

// chooseSpan chooses the longest interval of the state that a pixel has most of: its time, and the samples of its attribute.
async function chooseSpan({ state, go, load }: Page, of: Pixels, p: Place) {
  const row = of.rows[p.row]!, run = runAt(row.first, p.pixel), wanted = of.states[row.state[run]!]!.state;
  const from = timeOf(of, p.pixel), to = timeOf(of, p.pixel + 1);
  try {
    const answer = await load.ask<Head & { intervals: Interval[] }>(`histories/${encodeURIComponent(state.h)}/range`, { attribute: row.attribute, from: stamp(Math.floor(from)), to: stamp(Math.ceil(to + 1)), rows: 1000 });
    const all = answer.intervals.filter((i) => i.state === wanted), length = (i: Interval) => millisOf(i.end) - millisOf(i.start);
    const longest = (all.length ? all : answer.intervals).reduce<Interval | null>((a, b) => (a && length(a) >= length(b) ? a : b), null);
    if (!longest) return;
    const start = millisOf(longest.start) < millisOf(of.from) ? of.from : longest.start, end = millisOf(longest.end) > millisOf(of.to) ? of.to : longest.end;
    go({ from: start, to: end, at: row.attribute, st: longest.state, ns: "", mw: "", z: "" });
    spoken.set(`${row.attribute} ${longest.state}, ${span(length(longest))}`);
  } catch (e) {
    spoken.set(String((e as Error).message));
  }
}

// Beside is the table of the rows for screen readers.
function Beside({ of }: { of: Pixels }) {
  const rows = useMemo(() => of.rows.map((row) => [row.attribute, row.intervals, most(of, row)] as const), [of]);
  return (
    <div class="sr">
      <table>
        <caption>states by attribute</caption>
        <thead><tr><th scope="col">attribute</th><th scope="col">intervals</th><th scope="col">mostly</th></tr></thead>
        <tbody>{rows.map(([attribute, n, state]) => <tr key={attribute}><td>{text(attribute, 120)}</td><td>{n.toLocaleString("en")}</td><td>{state}</td></tr>)}</tbody>
      </table>
    </div>
  );
}

// most returns the state that most pixels of a row are of.
function most(of: Pixels, row: Pixels["rows"][number]): string {
  const pixels = new Map<number, number>();
  row.first.forEach((first, i) => pixels.set(row.state[i]!, (pixels.get(row.state[i]!) ?? 0) + (row.first[i + 1] ?? of.pixels) - first));
  const [state, n] = [...pixels].reduce((a, b) => (b[1] > a[1] ? b : a));
  return `${text(of.states[state]!.state, 60)} in ${Math.round(100 * n / of.pixels)} % of the time`;
}

// useAnyStates reports whether the history has states of the range, and is of the chosen service, or the chosen profiles have the label that
// leads to its states.
export function useAnyStates(page: Page): boolean {
  const { state, range } = page, of = state.v === "services" ? undefined : page.history, label = /\{([^{}]+)\}/.exec(state.p)?.[1];
  const isIn = of !== undefined && !(Date.parse(of.end ?? "") < range.from) && !(Date.parse(of.first ?? "") > range.to);
  const isAsked = isIn && label !== undefined && state.q !== "" && !isOf(of!, state.q) && range.newest > 0;
  const names = useAnswer(isAsked ? `${page.loadKey} ${label}` : null, async (signal) => {
    await page.load.afterFirst(signal);
    return (await querier<{ names?: string[] }>("LabelNames", { ...labelRange(page), matchers: [state.q] }, signal)).names ?? [];
  });
  if (state.st || state.ns || state.at) return isIn; // what is chosen stays in sight
  return isIn && (!isAsked || names.error !== undefined || (names.data?.includes(label) ?? false));
}
