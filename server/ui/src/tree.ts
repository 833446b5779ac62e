// A tree of functions on call paths, laid out as levels of frames.

import { packageOf } from "./format";

// Columns is a tree as the server sends it: nodes in preorder, functions by number. Function 0 is the root, and nodes of
// function 1 stand for others, of which the largest has the value omitted.
export interface Columns {
  names: string[]; files: number[]; binaries: number[]; texts: string[];
  depth: number[]; function: number[]; self: number[][]; groups?: number[][]; omitted: number;
}

// Level has the frames of one depth by place. x and w are in the unit of the values.
export interface Level { id: Int32Array; x: Float64Array; w: Float64Array }

export const otherText = "other: smaller frames, which the tree leaves out";
export type Side = "" | "before" | "after";

// Tree is immutable but for its layout. What most looks at a tree do not need is made when it is asked for.
export class Tree {
  readonly size: number;
  readonly parent: Int32Array;
  readonly total: Float64Array[]; // by side
  readonly groups: Float64Array[]; // totals by group, of samples that the sides need not have
  private hashes?: Uint32Array;
  private readonly kids: Int32Array; // children by parent, in preorder
  private readonly first: Int32Array; // where those of a node begin
  readonly x: Float64Array;
  readonly w: Float64Array;
  levels: Level[] = [];

  constructor(readonly of: Columns, private readonly root = "all") {
    const n = (this.size = of.depth.length);
    this.parent = parents(of.depth);
    this.total = of.self.map((self) => totals(self, this.parent));
    this.groups = (of.groups ?? []).map((group) => totals(group, this.parent));
    const first = (this.first = new Int32Array(n + 1)), kids = (this.kids = new Int32Array(Math.max(0, n - 1))), { parent } = this;
    for (let i = 1; i < n; i++) first[parent[i]! + 1]!++;
    for (let i = 0; i < n; i++) first[i + 1]! += first[i]!;
    for (let i = 1, next = first.slice(); i < n; i++) kids[next[parent[i]!]!++] = i;
    this.x = new Float64Array(n);
    this.w = new Float64Array(n);
  }

  // hash are the hashes of the paths of names.
  get hash(): Uint32Array { return (this.hashes ??= paths(this.of, this.parent)); }

  isOther(node: number): boolean { return this.of.function[node] === 1; }
  name(node: number): string { return node === 0 ? this.root : this.of.names[this.of.function[node]!]!; }
  file(node: number): string { return this.of.texts[this.of.files[this.of.function[node]!]!] ?? ""; }
  binary(node: number): string { return this.of.texts[this.of.binaries[this.of.function[node]!]!] ?? ""; }
  self(node: number, side: number): number { return this.of.self[side]![node]!; }
  get sides(): number { return this.total.length; }

  // children returns the frames below one, in the order of the layout.
  children(node: number): Int32Array { return this.kids.subarray(this.first[node]!, this.first[node + 1]!); }

  // path returns the frames from the root to one.
  path(node: number): number[] {
    const out = [];
    for (let i = node; i >= 0; i = this.parent[i]!) out.push(i);
    return out.reverse();
  }

  // find returns the frame with a hash, or the first of some others that is there; 0 if none is.
  find(...hashes: number[]): number {
    return Math.max(0, this.hash.indexOf(hashes.find((h) => this.hash.includes(h))!));
  }

  // lay lays the frames out. The width of a frame of two sides is the larger value of each node, so that a frame is as
  // wide as all below it.
  lay(side: Side, isByName: boolean) {
    const { size: n, of: { self, function: fn, names }, parent, first, w } = this;
    const a = self[side === "after" && self.length > 1 ? 1 : 0]!, b = side === "" && self.length > 1 ? self[1]! : a;
    for (let i = 0; i < n; i++) w[i] = Math.max(Math.abs(a[i]!), Math.abs(b[i]!));
    for (let i = n - 1; i > 0; i--) w[parent[i]!]! += w[i]!;
    const compare = (p: number, q: number) => (isByName ? 0 : w[q]! - w[p]!) || order(names[fn[p]!]!, names[fn[q]!]!);
    for (let i = 0; i < n; i++) this.sort(first[i]!, first[i + 1]!, compare);
    this.fill();
  }

  // sort orders some of the children. Most nodes have few: a call of the sort of arrays costs more than that of them.
  private sort(from: number, to: number, compare: (p: number, q: number) => number) {
    const { kids } = this;
    if (to - from > 20) kids.subarray(from, to).sort(compare);
    else for (let i = from + 1; i < to; i++) {
      const node = kids[i]!;
      let at = i;
      for (; at > from && compare(kids[at - 1]!, node) > 0; at--) kids[at] = kids[at - 1]!;
      kids[at] = node;
    }
  }

  // fill makes the levels. A frame with a width has one below each of its callers.
  private fill() {
    const { x, w, kids, first, of: { depth } } = this, counts: number[] = [];
    for (let i = 0; i < this.size; i++) if (!i || w[i]! > 0) counts[depth[i]!] = (counts[depth[i]!] ?? 0) + 1;
    this.levels = counts.map((n) => ({ id: new Int32Array(n), x: new Float64Array(n), w: new Float64Array(n) }));
    if (this.size) this.levels[0]!.w[0] = w[0]!;
    for (let d = 0; d < counts.length; d++) {
      const ids = this.levels[d]!.id, below = this.levels[d + 1];
      for (let i = 0, at = 0; i < ids.length; i++) {
        const end = first[ids[i]! + 1]!;
        for (let left = x[ids[i]!]!, k = first[ids[i]!]!; k < end; k++) {
          const kid = kids[k]!, width = w[kid]!;
          x[kid] = left;
          if (width > 0) {
            below!.id[at] = kid;
            below!.x[at] = left;
            below!.w[at++] = width;
          }
          left += width;
        }
      }
    }
  }

  // group returns what tells a function's number: of its package, file or binary.
  group(by: string): (f: number) => number {
    const { names, texts, files, binaries } = this.of, known = new Int16Array(names.length).fill(-1);
    const name = (f: number) => (by === "file" ? texts[files[f]!]! : by === "binary" ? texts[binaries[f]!]! : packageOf(names[f]!));
    return (f) => (known[f]! < 0 ? (known[f] = hashText(name(f)) % 251) : known[f]!);
  }
}

const order = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);

function parents(depth: number[]): Int32Array {
  const out = new Int32Array(depth.length), last: number[] = [];
  for (let i = 0; i < depth.length; i++) {
    out[i] = i ? last[depth[i]! - 1]! : -1;
    last[depth[i]!] = i;
  }
  return out;
}

function totals(self: number[], parent: Int32Array): Float64Array {
  const out = new Float64Array(self);
  for (let i = out.length - 1; i > 0; i--) out[parent[i]!]! += out[i]!;
  return out;
}

function paths(of: Columns, parent: Int32Array): Uint32Array {
  const names = of.names.map(hashText), out = new Uint32Array(of.depth.length);
  for (let i = 1; i < out.length; i++) out[i] = Math.imul(out[parent[i]!]! ^ names[of.function[i]!]!, 0x9e3779b1) ^ (out[parent[i]!]! >>> 15);
  return out;
}

// hashText is FNV-1a of the units of a text.
export function hashText(text: string): number {
  let h = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  return h >>> 0;
}

// place returns the first frame of a level that ends beyond x: the search that drawing and pointing need.
export function place(level: Level, x: number, from = 0): number {
  let low = from, high = level.id.length;
  while (low < high) {
    const mid = (low + high) >>> 1;
    if (level.x[mid]! + level.w[mid]! > x) high = mid;
    else low = mid + 1;
  }
  return low;
}
