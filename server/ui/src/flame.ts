// Drawing a tree on a canvas.

import { change, percent, split, text } from "./format";
import { place, type Tree } from "./tree";

export const rowHeight = 18;

// Look is how frames look: colours of the page's style, and what is found.
export interface Look {
  ink: string; faint: string; rest: string; run: string; hit: string; dim: string; line: string; background: string; strong: string;
  font: string;
  charWidth: number; // of the font, which has one width
  fills: string[]; // of groups
  changes: string[]; // from less over equal to more, an odd number
  group: (f: number) => number; // of a function
  noise?: Uint8Array; // by function: its change is within noise
  hits: Uint8Array | null; // by function: what the search found
  heat?: string[]; // colours of own values, from small to large
  shares?: { fills: string[]; isWhole: boolean }; // colours of the groups of the tree, which fill a frame or lie at its bottom
}

// View is the part of a tree that is seen, in pixels of the style and values of the tree.
export interface View {
  width: number; height: number;
  top: number; // pixels that are scrolled away
  zoomed: number; // frame that is as wide as the view
  seen?: Span; // what is seen instead
  isUp: boolean; // the root is at the bottom
}

// Span is a range of the root's width.
export type Span = readonly [from: number, to: number];

// spanOf returns what a view shows.
export function spanOf(tree: Tree, view: View): Span {
  const from = tree.x[view.zoomed]!;
  return view.seen ?? [from, from + tree.w[view.zoomed]!];
}

type Context = Pick<CanvasRenderingContext2D, "fillRect" | "strokeRect" | "fillText"> & { fillStyle: unknown; strokeStyle: unknown; font: string; lineWidth: number; textBaseline: string };

// A frame that is narrower is joined with its neighbours to a grey run.
const narrow = 2;

// draw draws the frames that are seen. Of each level it searches the first one, and skips the narrow ones by a search too.
export function draw(ctx: Context, tree: Tree, view: View, look: Look) {
  ctx.fillStyle = look.background;
  ctx.fillRect(0, 0, view.width, view.height);
  ctx.font = look.font;
  ctx.textBaseline = "middle";
  ctx.lineWidth = 1;
  const path = tree.path(view.zoomed), labels: Label[] = [];
  const [from, to] = visible(tree, view);
  for (let d = from; d < to; d++) {
    const y = levelTop(tree, view, d);
    if (d < path.length && !view.seen) frame(ctx, tree, look, path[d]!, 0, view.width, y, labels);
    else row(ctx, tree, view, look, d, y, labels);
  }
  for (const isDim of [false, true]) { // texts come last: a change of the colour costs as much as a frame
    ctx.fillStyle = isDim ? look.faint : look.ink;
    for (const l of labels) if (l.isDim === isDim) ctx.fillText(l.text, l.x, l.y);
  }
}

interface Label { text: string; x: number; y: number; isDim: boolean }

// levelTop returns where a level begins, from the top of the view.
export function levelTop(tree: Tree, view: View, depth: number): number {
  return (view.isUp ? tree.levels.length - 1 - depth : depth) * rowHeight - view.top;
}

function visible(tree: Tree, view: View): [number, number] {
  const n = tree.levels.length;
  const low = Math.max(0, Math.floor(view.top / rowHeight)), high = Math.min(n, Math.ceil((view.top + view.height) / rowHeight));
  return view.isUp ? [Math.max(0, n - high), n - low] : [low, high];
}

function row(ctx: Context, tree: Tree, view: View, look: Look, depth: number, y: number, labels: Label[]) {
  const level = tree.levels[depth]!, [x0, x1] = spanOf(tree, view), scale = view.width / (x1 - x0 || 1);
  for (let i = place(level, x0); i < level.id.length && level.x[i]! < x1; ) {
    const left = Math.max(0, (level.x[i]! - x0) * scale), width = Math.min(view.width, (level.x[i]! + level.w[i]! - x0) * scale) - left;
    if (width >= narrow) {
      frame(ctx, tree, look, level.id[i]!, left, width, y, labels);
      i++;
      continue;
    }
    const isHit = hit(tree, look, level.id[i]!);
    let right = left + width;
    for (i++; i < level.id.length && level.x[i]! < x1; ) { // the run goes on while frames are narrow and close
      const l = (level.x[i]! - x0) * scale, w = level.w[i]! * scale;
      if (w >= narrow || l - right > 1 || isHit !== hit(tree, look, level.id[i]!)) break;
      right = l + w;
      i = look.hits ? i + 1 : Math.max(i + 1, place(level, x0 + (right + 0.5) / scale, i)); // a search looks at each
    }
    ctx.fillStyle = isHit ? look.hit : look.hits ? look.dim : look.run;
    ctx.fillRect(left, y, Math.max(0.5, right - left), rowHeight - 1);
  }
}

const hit = (tree: Tree, look: Look, id: number) => look.hits !== null && look.hits[tree.of.function[id]!] === 1;

function frame(ctx: Context, tree: Tree, look: Look, id: number, x: number, width: number, y: number, labels: Label[]) {
  const f = tree.of.function[id]!, isDim = look.hits !== null && !look.hits[f];
  ctx.fillStyle = isDim ? look.dim : fill(tree, look, id);
  ctx.fillRect(x, y, Math.max(width - 1, 1), rowHeight - 1);
  if (look.shares && !isDim) bands(ctx, tree, look.shares, id, x, Math.max(width - 1, 1), y);
  if (look.hits && !isDim) {
    ctx.strokeStyle = look.strong;
    ctx.strokeRect(x + 0.5, y + 0.5, Math.max(width - 2, 1), rowHeight - 2);
  }
  const room = Math.floor((width - 7) / look.charWidth);
  if (room >= 3) labels.push({ text: label(tree, id, room), x: x + 4, y: y + rowHeight / 2, isDim });
}

const bandHeight = 4;

// bands draws the shares of the groups of a frame beside each other.
function bands(ctx: Context, tree: Tree, of: NonNullable<Look["shares"]>, id: number, x: number, width: number, y: number) {
  const sum = tree.groups.reduce((n, g) => n + Math.abs(g[id]!), 0), height = of.isWhole ? rowHeight - 1 : bandHeight;
  let left = x;
  for (let g = 0; sum && g < tree.groups.length; g++) {
    const part = width * Math.abs(tree.groups[g]![id]!) / sum;
    if (!part) continue;
    ctx.fillStyle = of.fills[g]!;
    ctx.fillRect(left, y + rowHeight - 1 - height, part, height);
    left += part;
  }
}

// heats are the own values, as parts of all, from which a frame has the next colour.
export const heats = [0.001, 0.01, 0.05];

// fill returns the colour of a frame.
function fill(tree: Tree, look: Look, id: number): string {
  const f = tree.of.function[id]!;
  if (tree.sides > 1) return look.changes[look.noise?.[f] ? (look.changes.length - 1) / 2 : changeStep(tree.total[0]![id]!, tree.total[1]![id]!, look.changes.length)]!;
  if (f < 2) return look.rest;
  if (look.heat) return look.heat[heats.filter((h) => Math.abs(tree.self(id, 0)) >= h * Math.abs(tree.total[0]![0]!)).length]!;
  return look.fills[look.group(f) % look.fills.length]!;
}

// changeStep returns the step of a change, from 0 for less to steps-1 for more.
export function changeStep(before: number, after: number, steps: number): number {
  const middle = (steps - 1) / 2, most = Math.max(Math.abs(before), Math.abs(after));
  const d = most ? (after - before) / most : 0, size = Math.abs(d);
  const step = size < 0.02 ? 0 : size < 0.2 ? 1 : size < 0.5 ? 2 : 3;
  return middle + Math.sign(d) * Math.min(step, middle);
}

// label returns a name that fits, with its share of all behind it if there is room: without its folder, then without its package,
// but with its type, and then the end of that: many types have a method Next.
export function label(tree: Tree, id: number, room: number): string {
  const before = tree.sides > 1 ? change(tree.total[0]![id]!, tree.total[1]![id]!) + " " : "", left = room - before.length;
  const isOther = tree.isOther(id), last = tree.total[tree.sides - 1]!;
  const name = isOther ? `other: ${percent(last[id]!, last[0]!)}` : text(tree.name(id), 500);
  const share = tree.sides > 1 || isOther ? "" : `  ${percent(last[id]!, last[0]!)}`;
  const short = split(name)[1].replace(/\[.*\]/, "[…]"), typed = short.replace(/^[^.(]+\.(?=.*\.)/, "").replace(/^\(\*?([^)]*)\)(?=\.)/, "$1");
  for (const s of [name, split(name)[1], short, typed]) if (s.length <= left) return before + s + (s.length + share.length <= left ? share : "");
  const plain = typed.replace(/:\d+$/, ""), bare = /[^.:]*$/.exec(plain)![0], isClosure = /^(func)?\d*$/.test(bare), end = (most: number) => (!isClosure && bare.length <= most && bare.length + 3 > most ? bare : "…" + plain.slice(1 - most));
  return left > 7 ? before + end(left) : end(room);
}

// at returns the frame at a point of a view, -1 for none.
export function at(tree: Tree, view: View, px: number, py: number): number {
  const n = tree.levels.length, rowAt = Math.floor((py + view.top) / rowHeight);
  const d = view.isUp ? n - 1 - rowAt : rowAt, path = tree.path(view.zoomed);
  if (d < 0 || d >= n) return -1;
  if (d < path.length && !view.seen) return path[d]!;
  const level = tree.levels[d]!, [from, to] = spanOf(tree, view), x = from + (px / view.width) * (to - from);
  const i = place(level, x);
  return i < level.id.length && level.x[i]! <= x ? level.id[i]! : -1;
}

// box returns where the part of a frame is that a view shows: x, y and width, below 0 if it shows none.
export function box(tree: Tree, view: View, id: number): [number, number, number] {
  const y = levelTop(tree, view, tree.of.depth[id]!);
  if (!view.seen && tree.path(view.zoomed).includes(id)) return [0, y, view.width];
  const [from, to] = spanOf(tree, view), scale = view.width / (to - from || 1);
  const left = Math.max(0, (tree.x[id]! - from) * scale);
  return [left, y, Math.min(view.width, (tree.x[id]! + tree.w[id]! - from) * scale) - left];
}

// search returns which functions a pattern finds, and the width of the frames with one, each stack counted once.
export function search(tree: Tree, pattern: RegExp): { hits: Uint8Array; width: number; nodes: number[] } {
  const hits = Uint8Array.from(tree.of.names, (name, f) => (f > 1 && pattern.test(name) ? 1 : 0));
  const covered = new Uint8Array(tree.size), nodes: number[] = [];
  let width = 0;
  for (let i = 1; i < tree.size; i++) { // parents come before children
    const isHit = hits[tree.of.function[i]!]!;
    if (isHit && tree.w[i]) nodes.push(i);
    if (isHit && !covered[tree.parent[i]!]) width += tree.w[i]!;
    covered[i] = isHit | covered[tree.parent[i]!]!;
  }
  return { hits, width, nodes };
}
