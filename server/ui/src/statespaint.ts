// The picture of states: each row of pixels is a line of one image, which is drawn without smoothing. Its cost depends
// on the pixels, and not on the intervals.

import { fillOf, type Pixels } from "./states";
import { millisOf } from "./url";

// Colours are those of the page's style: of states by number, of the surface, and of what is hatched and outlined.
export interface Colours { fills: string[]; surface: string; rule: string; muted: string; strong: string }

// Frame is where the picture is: the range of time that is seen, in milliseconds, and the place of its axis.
export interface Frame { from: number; to: number; left: number; width: number; rowHeight: number; top: number; height: number }

// rgb returns a colour such as #d0e6b5 as numbers.
function rgb(colour: string): [number, number, number] {
  const n = parseInt(colour.slice(1), 16);
  return [n >> 16, (n >> 8) & 255, n & 255];
}

// image makes the image of an answer, a line for each row. A state that has a small share of a pixel is pale, and so are
// the states beside the chosen one.
export function image(of: Pixels, colours: Colours, only: string): HTMLCanvasElement {
  const out = document.createElement("canvas"), width = Math.max(1, of.pixels), height = Math.max(1, of.rows.length);
  out.width = width;
  out.height = height;
  const ctx = out.getContext("2d")!, data = ctx.createImageData(width, height), words = new Uint32Array(data.data.buffer);
  const surface = rgb(colours.surface), mixed = new Map<number, number>();
  const fills = of.states.map((s) => { const f = fillOf(s.state); return f < 0 ? null : rgb(colours.fills[f]!); });
  const faint = of.states.map((s) => only !== "" && s.state !== only);
  const word = (state: number, share: number) => {
    const key = state * 128 + share, done = mixed.get(key);
    if (done !== undefined) return done;
    const fill = fills[state], part = (0.35 + 0.65 * share / 100) * (faint[state] ? 0.25 : 1);
    const [r, g, b] = surface.map((s, i) => Math.round(s + (fill ? (fill[i]! - s) * part : 0)));
    const made = (255 << 24 | b! << 16 | g! << 8 | r!) >>> 0;
    mixed.set(key, made);
    return made;
  };
  of.rows.forEach((row, y) => {
    for (let i = 0; i < row.first.length; i++) {
      words.fill(word(row.state[i]!, row.share?.[i] ?? 100), y * width + row.first[i]!, y * width + (row.first[i + 1] ?? width));
    }
  });
  ctx.putImageData(data, 0, 0);
  return out;
}

// xOf returns the place of a time.
export const xOf = (f: Frame, t: number) => f.left + (t - f.from) / Math.max(1e-6, f.to - f.from) * f.width;

// paint draws the rows that are in view.
export function paint(ctx: CanvasRenderingContext2D, of: Pixels, picture: HTMLCanvasElement, f: Frame, colours: Colours) {
  ctx.fillStyle = colours.surface;
  ctx.fillRect(0, 0, ctx.canvas.width, ctx.canvas.height);
  ctx.save();
  ctx.beginPath();
  ctx.rect(f.left, 0, f.width, f.height);
  ctx.clip();
  ctx.imageSmoothingEnabled = false;
  if (of.rows.length) {
    const x = xOf(f, millisOf(of.from)), end = xOf(f, millisOf(of.to)), gap = f.rowHeight > 6 ? 2 : 0;
    const first = Math.floor(f.top / f.rowHeight), last = Math.min(of.rows.length, Math.ceil((f.top + f.height) / f.rowHeight));
    for (let y = first; y < last; y++) ctx.drawImage(picture, 0, y, picture.width, 1, x, y * f.rowHeight - f.top + gap / 2, Math.max(1, end - x), f.rowHeight - gap);
  }
  hatch(ctx, f, xOf(f, millisOf(of.floor)), colours);
  ctx.restore();
}

// hatch marks the time of which there are no states any more.
function hatch(ctx: CanvasRenderingContext2D, f: Frame, end: number, colours: Colours) {
  if (!(end > f.left)) return;
  ctx.beginPath();
  ctx.rect(f.left, 0, end - f.left, f.height);
  ctx.clip();
  ctx.strokeStyle = colours.rule;
  ctx.lineWidth = 2;
  ctx.beginPath();
  for (let i = f.left - f.height; i < end; i += 14) {
    ctx.moveTo(i, f.height);
    ctx.lineTo(i + f.height, 0);
  }
  ctx.stroke();
  if (end - f.left < 260) return; // names of rows are on the left of it
  ctx.fillStyle = colours.muted;
  ctx.font = "11px system-ui, sans-serif";
  ctx.textAlign = "right";
  ctx.fillText("no states here", end - 8, 13);
  ctx.textAlign = "left";
}

// runAt returns the run of a row that a pixel is in.
export function runAt(first: number[], pixel: number): number {
  let low = 0, high = first.length;
  while (high - low > 1) {
    const mid = (low + high) >>> 1;
    if (first[mid]! <= pixel) low = mid;
    else high = mid;
  }
  return low;
}
