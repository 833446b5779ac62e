// The values over time: lines by label. A drag chooses a range.

import { useEffect, useMemo, useRef } from "preact/hooks";
import uPlot from "uplot";
import { useAnswer } from "./answer";
import { querier, type Head, type Series } from "./api";
import { css, onColours } from "./canvas";
import { dotAt, dotsHeight, dotsText, paintDots, useDots, type Dots } from "./dots";
import { clock, percent, rated, text, tick, value, zone } from "./format";
import { alone, broken, perSecond, stepOf, type Line } from "./gaps";
import { timeKey } from "./graphkeys";
import { around, markAt, markText, MarksMenu, paintMarks, useMarks, type Mark } from "./marks";
import { Failed } from "./message";
import { details, type Page } from "./page";
import type { StateText } from "./states";
import { end, isDifference, narrowed, resolve, stamp, states } from "./url";

interface Lines { times: number[]; lines: Line[]; all?: number; isMean: boolean; show: (v: number) => string; total?: (v: number) => string; what: string; drawn?: (longest: number) => Pick<Lines, "times" | "lines"> }

const mostLines = 5;
const isGauge = (t: string) => /^(inuse_|goroutine|threadcreate$)/.test(t);
export const sampleType = (id: string) => decodeURIComponent(id.split(":")[1] ?? id);

// shown is the range of the chart: that of the page, and in a difference also that of the side before.
function shown({ state, range }: Page) {
  let { from, to } = range;
  if (isDifference(state)) {
    if (state.bfrom) from = Math.min(from, resolve(state.bfrom, range));
    if (state.bto) to = Math.max(to, resolve(state.bto, range));
  }
  return { from, to: Math.max(to, from + 1) };
}

// none is an axis alone, for states without samples.
const none: Lines = { times: [], lines: [], isMean: false, show: () => "", what: "" };

export function Chart({ page }: { page: Page }) {
  const { state, go } = page, { from, to } = shown(page), step = stepOf(to - from), isStates = state.by === states && state.h !== "" && state.p !== "";
  const dots = useDots(page, from, to), marks = useMarks(page, from, to);
  const isMean = isGauge(sampleType(state.t)) && state.sum !== "1";
  const key = state.t && JSON.stringify([page.loadKey, state.t, state.q, state.by, isStates && [state.h, state.p], from, to]);
  const answer = useAnswer<Lines>(key || null, async (signal) => {
    if (isStates) return stateLines(page, from, to, signal);
    await page.load.afterFirst(signal, 500);
    const ask = async (q: string, side?: string) => ((await querier<{ series?: Series[] }>("SelectSeries", {
      profileTypeID: state.t, labelSelector: q || "{}", start: String(Math.floor(from)), end: String(Math.ceil(to) + 1), step,
      groupBy: state.by && state.by !== states ? [state.by] : [], aggregation: isMean ? "TIME_SERIES_AGGREGATION_TYPE_AVERAGE" : "TIME_SERIES_AGGREGATION_TYPE_SUM",
    }, signal)).series ?? []).map((s) => (side ? { ...s, labels: [...(s.labels ?? []), { name: "side", value: side }] } : s));
    const series = isDifference(state) && state.bq ? (await Promise.all([ask(state.bq, "before"), ask(state.q, "after")])).flat() : await ask(state.q);
    return linesOf(series, isMean, page, 1000 * step, from, to);
  });
  const longest = Math.max(0, ...(dots?.single ?? []).map((d) => d.duration / 1e6)); // milliseconds
  const lines = useMemo(() => answer.data && { ...answer.data, ...answer.data.drawn?.(longest) }, [answer.data, longest]);
  if (answer.error && (answer.error.status || !answer.data)) return <section class="chart" aria-label="values over time"><Failed of={answer} /></section>;
  const drag = (a: number, b: number, isOther: boolean) => {
    const range = { from: stamp(Math.floor(a)), to: stamp(Math.ceil(b)) };
    go(isOther ? { v: "difference", bfrom: range.from, bto: range.to } : range);
  };
  return (
    <section class={"chart" + (answer.isOld || answer.error ? " old" : "")} aria-label="values over time" aria-busy={answer.isOld}>
      <Plot page={page} lines={state.t ? lines : none} dots={dots} marks={marks} from={from} to={to} drag={drag} />
      <div class="beside-plot">
        {lines && <Legend page={page} lines={lines} dots={dots} />}
        <MarksMenu page={page} marks={marks} from={from} to={to} />
      </div>
    </section>
  );
}

// linesOf returns the lines with the largest sums, and the sum of the rest, with gaps.
function linesOf(series: Series[], isMean: boolean, { unit, state }: Page, step: number, from: number, to: number): Lines {
  const times = [...new Set(series.flatMap((s) => (s.points ?? []).map((p) => Number(p.timestamp))))].sort((a, b) => a - b);
  const at = new Map(times.map((t, i) => [t, i]));
  const lines = series.map(({ labels = [], points = [] }): Line => {
    const values: Line["values"] = times.map(() => null);
    let sum = 0;
    for (const p of points) sum += values[at.get(Number(p.timestamp))!] = p.value ?? 0;
    return { name: labels.map((l) => l.value).join(" ") || (state.by ? "none" : "all"), label: labels[0]?.value ?? null, sum, values };
  });
  const isSum = state.sum === "1" && isGauge(sampleType(state.t)), isRate = !isMean && !isSum, total = (v: number) => value(v, unit);
  const all = largest({ times, lines, isMean: isMean || isRate, show: isRate ? (v) => rated(v, unit, sampleType(state.t)) : total, total: isRate ? total : undefined, what: "" });
  return { ...all, drawn: (longest) => broken(times, isRate ? all.lines.map((l) => perSecond(times, l, step, from, to, longest)) : all.lines, step) };
}

// largest returns the lines with the largest sums, and the sum of the rest.
function largest(of: Lines): Lines {
  const { times } = of, all = of.lines.length, lines = of.lines.sort((a, b) => b.sum - a.sum);
  if (lines.length > mostLines + 1) {
    const rest = lines.splice(mostLines), sum = (i: number) => rest.reduce<number | null>((n, l) => (l.values[i] == null ? n : (n ?? 0) + l.values[i]!), null);
    lines.push({ name: `${rest.length} others`, label: null, sum: rest.reduce((n, l) => n + l.sum, 0), values: times.map((_, i) => sum(i)) });
  }
  return { ...of, lines, all };
}

interface Counted extends Head { from: string; to: string; pixels: number; attributes: number; states: StateText[]; counts: number[][] }

// stateLines are how many attributes were in each state.
async function stateLines({ state, load }: Page, from: number, to: number, signal: AbortSignal): Promise<Lines> {
  const params = { p: state.p, from: stamp(Math.floor(from)), to: stamp(Math.ceil(to) + 1), pixels: 240 };
  const of = await load.askLater<Counted>(`histories/${encodeURIComponent(state.h)}/lines`, params, signal);
  const a = Date.parse(of.from), b = Date.parse(of.to), times = Array.from({ length: of.pixels }, (_, i) => a + (i + 0.5) / of.pixels * (b - a));
  const lines = of.counts.map((values, i): Line => ({ name: of.states[i]!.state, label: of.states[i]!.state, sum: values.reduce((n, v) => n + v, 0), values }));
  return largest({ times, lines, isMean: true, show: (v) => `${Number(v.toPrecision(3))} (${percent(v, of.attributes)})`, what: `state of ${of.attributes.toLocaleString("en")} attributes` });
}

// mean is that of the points of a line.
function mean(values: Line["values"]): number {
  const all = values.filter((v) => v != null);
  return all.reduce((n, v) => n + v, 0) / (all.length || 1);
}

// Legend is the table beside the lines: it is also the way to choose one.
function Legend({ page: { state, go }, lines: { lines, all = 0, times, isMean, show, total, what }, dots }: { page: Page; lines: Lines; dots?: Dots }) {
  const add = (v: string) => {
    if (what) return go({ st: state.st === v ? "" : v, ns: "", mw: "", z: "" });
    go({ q: narrowed(state.q, state.by, v) });
  };
  return (
    <table class="legend">
      <thead><tr><th scope="col">{what || (state.by && state.by !== states ? text(state.by, 40) : "series")}{!what && (state.st || state.ns || state.at) && <small> · of all samples</small>}{dots && <small> · {dotsText(dots)}</small>}</th><th scope="col" class="n">{total ? "rate" : isMean ? "mean" : "sum"}</th></tr></thead>
      <tbody>
        {lines.map((l, i) => (
          <tr key={l.name} class={what && l.label === state.st ? "chosen" : ""}>
            <td><i class={"key key" + i} aria-hidden="true" />{state.by && l.label ? <button type="button" class="link" title="only this" onClick={() => add(l.label!)}>{text(l.name, 40)}</button> : text(l.name, 40)}</td>
            <td class="n" title={total && total(l.sum) + " in all"}>{show(total ? mean(l.values) : isMean ? l.sum / (l.values.filter((v) => v != null).length || 1) : l.sum)}</td>
          </tr>
        ))}
        {!times.length && <tr><td colSpan={2}>no profiles</td></tr>}
      </tbody>
      {!what && all > lines.length && <tfoot><tr><td colSpan={2}><button type="button" class="link all-values" onClick={() => go({ v: "services", l: state.by, m: "" })}>all {all.toLocaleString("en")} values</button></td></tr></tfoot>}
    </table>
  );
}

interface PlotProps { page: Page; lines?: Lines; dots?: Dots; marks: Mark[]; from: number; to: number; drag: (a: number, b: number, isOther: boolean) => void }

function Plot(props: PlotProps) {
  const place = useRef<HTMLDivElement>(null), latest = useRef(props);
  latest.current = props;
  const { lines, dots, marks, from, to, page: { floor, state } } = props;
  const plotted = useRef<uPlot>(null);
  useEffect(() => {
    if (!lines || !place.current) return;
    const host = place.current;
    let plot = (plotted.current = make(host, latest, lines));
    const remake = () => { plot.destroy(); plot = plotted.current = make(host, latest, lines); };
    const size = new ResizeObserver(() => requestAnimationFrame(() => plot.setSize({ width: host.clientWidth, height: host.clientHeight })));
    size.observe(host);
    const stop = onColours(remake);
    return () => { size.disconnect(); stop(); plotted.current = null; plot.destroy(); };
  }, [lines, from, to, floor, state.v, state.bfrom, state.bto, state.utc, state.st]);
  useEffect(() => plotted.current?.redraw(false), [dots, marks]);
  return <div class="plot" ref={place} tabIndex={0} role="group" aria-label="chart: drag or + - [ ] for another range" onKeyDown={(e) => { if (!e.ctrlKey && !e.metaKey && !e.altKey && timeKey(e.key, props.page)) e.preventDefault(); }} />;
}

function make(host: HTMLElement, latest: { current: PlotProps }, of: Lines): uPlot {
  const { times, lines, show } = of, { from, to, page: { state } } = latest.current, ink = css("--muted"), grid = css("--rule");
  let isOther = false, down = 0;
  const axis = { stroke: ink, grid: { stroke: grid, width: 1 }, ticks: { show: false }, font: "11px system-ui, sans-serif" };
  const plot = new uPlot({
    width: host.clientWidth, height: host.clientHeight, padding: [null, to - from < 1e4 ? 36 : null, null, null], ms: 1, tzDate: (t) => uPlot.tzDate(new Date(t), zone.isUTC ? "UTC" : Intl.DateTimeFormat().resolvedOptions().timeZone), legend: { show: false },
    cursor: { points: { show: false }, y: false, drag: { x: true, y: false, setScale: false } },
    scales: { x: { time: true, range: [from, to] }, y: { range: (_u, _min, max) => [0, max > 0 ? max * 1.1 : 1] } },
    axes: [{ ...axis, size: 22, space: 90, values: (_u, at, _i, _space, step) => at.map((t) => tick(t, step)) }, { ...axis, size: (_u, all) => Math.max(62, 12 + 7 * Math.max(0, ...(all ?? []).map((v) => v.length))), splits: (_u, _i, _min, max) => [0, max / 2.2, max / 1.1], values: (_u, at) => at.map((v) => (times.length ? show(v).replace(/ \(.*/, "") : "")) }],
    series: [{}, ...lines.map((l, i) => ({ label: l.name, stroke: css("--line" + Math.min(i, mostLines)), width: of.what && l.label === state.st ? 3 : 1.5, points: { show: times.length < 80, size: 4, filter: (_u: uPlot, _i: number, isAll: boolean) => (isAll ? null : alone(l.values)) } }))],
    hooks: {
      drawClear: [(u) => shade(u, latest.current)],
      setSelect: [(u) => {
        const { left, width } = u.select;
        if (width > 3) latest.current.drag(u.posToVal(left, "x"), u.posToVal(left + width, "x"), isOther);
        u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
      }],
      setCursor: [(u) => pointed(u, of, latest.current)],
      draw: [(u) => latest.current.dots && paintDots(u, latest.current.dots, ink), (u) => paintMarks(u, latest.current.marks, css("--accent"))],
    },
  }, [times, ...lines.map((l) => l.values)] as uPlot.AlignedData, host);
  plot.over.addEventListener("pointermove", () => plot.syncRect(true)); // the chart moves when what is above it grows
  plot.over.addEventListener("pointerdown", (e) => { isOther = e.shiftKey; down = e.clientX; });
  plot.over.addEventListener("click", (e) => {
    const r = plot.over.getBoundingClientRect(), { dots, marks, page } = latest.current, mark = markAt(marks, plot, e.clientX - r.left, e.clientY - r.top);
    if (mark && Math.abs(e.clientX - down) <= 3 && e.clientY < r.bottom - dotsHeight) return page.go(around(mark, latest.current.from, latest.current.to));
    if (!dots || Math.abs(e.clientX - down) > 3 || e.clientY < r.bottom - dotsHeight) return;
    const change = dotAt(dots, plot, e.clientX - r.left)?.go;
    if (change) page.go(change);
  });
  return plot;
}

// shade draws what lies behind the lines: what was evicted, and the sides of a difference.
function shade(u: uPlot, { from, page: { state, range, floor } }: PlotProps) {
  const { ctx, bbox } = u, x = (t: number) => Math.min(bbox.left + bbox.width, Math.max(bbox.left, u.valToPos(t, "x", true)));
  const band = (a: number, b: number, colour: string) => { ctx.fillStyle = colour; ctx.fillRect(x(a), bbox.top, x(b) - x(a), bbox.height); };
  if (isDifference(state) && state.bfrom + state.bto) {
    band(resolve(state.bfrom || state.from, range), resolve(state.bto || end(state), range), css("--before"));
    band(range.from, range.to, css("--after"));
  }
  if (!floor || floor <= from) return;
  const edge = x(floor);
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, edge - bbox.left, bbox.height);
  ctx.clip();
  ctx.strokeStyle = css("--rule");
  ctx.lineWidth = 2;
  for (let i = bbox.left - bbox.height; i < edge; i += 14) {
    ctx.beginPath();
    ctx.moveTo(i, bbox.top + bbox.height);
    ctx.lineTo(i + bbox.height, bbox.top);
    ctx.stroke();
  }
  ctx.fillStyle = css("--muted");
  ctx.fillText("evicted", bbox.left + 8, bbox.top + 14);
  ctx.restore();
}

let own = ""; // what the chart said last

// pointed says the values below the pointer, beside the lines; of dots it says what they are. What others said
// stays when a chart is made again.
function pointed(u: uPlot, { lines, show }: Lines, { dots, marks }: PlotProps) {
  const i = u.cursor.idx, left = u.cursor.left ?? -1;
  if (left < 0) return details.value === own ? details.set("") : undefined;
  const dot = dots && (u.cursor.top ?? 0) > u.over.clientHeight - dotsHeight ? dotAt(dots, u, left) : null;
  const values = i == null ? [] : lines.map((l) => (l.values[i] == null ? "" : `${text(l.name, 30)} ${show(l.values[i]!)}`)).filter(Boolean);
  const mark = !dot && markAt(marks, u, left, u.cursor.top ?? 0);
  if (mark) details.set(own = markText(mark) + "  ·  click to compare before and after");
  else if (dot) details.set(own = dot.text + (dot.go ? "  ·  click for it alone" : ""));
  else if (values.length) details.set(own = clock(u.data[0][i!]!) + ": " + values.join(", "));
  u.over.style.cursor = dot?.go || mark ? "pointer" : "";
}
