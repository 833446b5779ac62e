// How the rows of states are found, ordered and marked: names, samples, and arrows from each row to the row that it woke.

import type { Params } from "./request";
import { text } from "./format";
import type { Page } from "./page";
import type { Pixels, Row } from "./states";
import { xOf, type Colours, type Frame } from "./statespaint";
import { Toggle, useTyped } from "./tools";

const letters: [string, string, string][] = [["w", "longest waits", "the rows with the longest waits first"], ["l", "levels", "what is below each row: regions, slices"], ["a", "wake-ups", "an arrow from each row to the row that it woke"], ["s", "samples", "where samples were taken"]];

// hasLabel reports whether samples lead to rows by one label.
const hasLabel = (p: string) => /^[^{}*]*\{[^{}]+\}[^{}*]*$/.test(p);

// rowOptions are the parameters of the rows that are asked for.
export function rowOptions({ state: s }: Page): Params {
  const is = (letter: string) => (s.ro.includes(letter) ? "1" : "");
  const samples = is("s") && s.t && hasLabel(s.p) ? { samples: "1", t: s.t, q: s.q, focus: s.focus, ignore: s.ignore } : {};
  return { find: s.rf, sort: is("w") && "waits", under: is("l"), wakes: is("a"), ...samples };
}

export function Options({ page, of }: { page: Page; of?: Pixels }) {
  const { state, go } = page, [typed, set] = useTyped(page, "rf");
  const flip = (letter: string, on: boolean) => go({ ro: letters.map(([l]) => l).filter((l) => (l === letter ? on : state.ro.includes(l))).join("") });
  return (
    <span class="row-options">
      <input type="search" aria-label="find rows by a text in their names" placeholder="find rows" maxLength={100} value={typed} spellcheck={false} onInput={(e) => set(e.currentTarget.value)} />
      {letters.filter(([l]) => l !== "s" || state.t && hasLabel(state.p)).map(([l, what]) => <Toggle key={l} what={what} isOn={state.ro.includes(l)} set={(on) => flip(l, on)} />)}
      {of?.wakes_left && <small>the first {of.wakes?.length.toLocaleString("en")} wake-ups</small>}
    </span>
  );
}

// nameOf is what a row is called: the names below the row that it belongs to, or its number and its function.
export function nameOf(row: Row): string {
  const path = row.attribute.split("/"), own = path.slice(path.length - Math.max(1, row.level ?? 0)).join("/");
  return row.name ? `${own} ${row.name}` : own;
}

// chips writes names behind the rows, below the legend of the chart, or where there is no room on them.
export function chips(ctx: CanvasRenderingContext2D, of: Pixels, f: Frame, all: Colours) {
  const isNamed = of.rows.some((r) => r.name || r.level);
  if (!isNamed || f.width < 200) return;
  ctx.font = "10.5px system-ui, sans-serif";
  const room = ctx.canvas.clientWidth - f.left - f.width, isBehind = room > 120;
  const most = isBehind ? Math.floor(room / 6) - 2 : Math.max(12, Math.floor(f.width / 5 / 6)), left = isBehind ? f.left + f.width + 3 : Math.max(0, f.left) + 2;
  each(of, f, (row, y) => {
    if (!row.name && !row.level) return;
    const name = text(row.level || f.left < 30 ? nameOf(row) : row.name!, 200); // else its number is before the row
    const shown = name.length > most ? name.slice(0, most - 1) + "…" : name, x = left + 10 * Math.min(4, row.level ?? 0);
    ctx.globalAlpha = 0.92;
    ctx.fillStyle = all.surface;
    ctx.fillRect(x, y + 1, ctx.measureText(shown).width + 6, f.rowHeight - 2);
    ctx.globalAlpha = 1;
    ctx.fillStyle = all.strong;
    ctx.fillText(shown, x + 3, y + 10);
  });
}

// each calls back with the rows that are in view, and where they are.
function each(of: Pixels, f: Frame, draw: (row: Row, y: number, i: number) => void) {
  const first = Math.floor(f.top / f.rowHeight), last = Math.min(of.rows.length, Math.ceil((f.top + f.height) / f.rowHeight));
  for (let i = first; i < last; i++) draw(of.rows[i]!, i * f.rowHeight - f.top, i);
}

// placeOf returns a function from pixels of an answer to places, in the middle of each.
function placeOf(of: Pixels, f: Frame): (pixel: number) => number {
  const a = xOf(f, Date.parse(of.from)), b = xOf(f, Date.parse(of.to));
  return (pixel) => a + (pixel + 0.5) / Math.max(1, of.pixels) * (b - a);
}

// dots marks the pixels with samples.
export function dots(ctx: CanvasRenderingContext2D, of: Pixels, f: Frame, all: Colours) {
  const x = placeOf(of, f);
  ctx.fillStyle = all.strong;
  each(of, f, (row, y) => {
    for (const pixel of row.samples ?? []) ctx.fillRect(x(pixel) - 1, y + f.rowHeight - 5, 2, 4);
  });
}

// arrows draws a line from the waking row, or a short one if it is not shown, to the woken row. Of lines that would touch it draws the first.
export function arrows(ctx: CanvasRenderingContext2D, of: Pixels, f: Frame, all: Colours) {
  if (!of.wakes?.length) return;
  const x = placeOf(of, f), middle = (row: number) => (row + 0.5) * f.rowHeight - f.top;
  ctx.strokeStyle = ctx.fillStyle = all.strong;
  ctx.lineWidth = 1;
  ctx.globalAlpha = 0.75;
  const last = new Map<number, number>(); // by the two rows: where the last arrow is
  for (const w of of.wakes) {
    const to = middle(w.row), from = w.by_row < 0 ? to - f.rowHeight / 2 + 1 : middle(w.by_row), at = x(w.pixel), down = to > from ? 1 : -1;
    if (Math.max(from, to) < 0 || Math.min(from, to) > f.height || at - (last.get(w.row * 4096 + w.by_row) ?? -99) < 8) continue;
    last.set(w.row * 4096 + w.by_row, at);
    ctx.beginPath();
    ctx.moveTo(at, from);
    ctx.lineTo(at, to);
    ctx.stroke();
    ctx.beginPath();
    ctx.moveTo(at, to);
    ctx.lineTo(at - 3, to - 4 * down);
    ctx.lineTo(at + 3, to - 4 * down);
    ctx.fill();
    if (w.by_row >= 0) ctx.fillRect(at - 1.5, from - 1.5, 3, 3);
  }
  ctx.globalAlpha = 1;
}
