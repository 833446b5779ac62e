// A tree of functions on call paths, laid out as levels of frames.

import { packageOf } from "./format";

// Columns is a tree as the server sends it: nodes in preorder, functions by number. Function 0 is the root, and nodes of
// function 1 stand for others.
export interface Columns {
  names: string[]; files: number[]; lines: number[]; binaries: number[]; texts: string[];
  depth: number[]; function: number[]; self: number[][]; groups?: number[][]; others: [number, number][]; all: number;
}

// Level has the frames of one depth by place. x and w are in the unit of the values.
export interface Level { id: Int32Array; x: Float64Array; w: Float64Array }

export type Side = "" | "before" | "after";

// Tree is immutable but for its layout.
export class Tree {
  readonly size: number;
  readonly parent: Int32Array;
  readonly total: Float64Array[]; // by side
  readonly groups: Float64Array[]; // totals by group, of samples that the sides need not have
  readonly hash: Uint32Array; // of the path of names
  private readonly kids: Int32Array; // children by parent, in preorder
  private readonly first: Int32Array; // where those of a node begin
  readonly x: Float64Array;
  readonly w: Float64Array;
  levels: Level[] = [];
  readonly others = new Map<number, number>();

  constructor(readonly of: Columns, private readonly root = "all") {
    const n = (this.size = of.depth.length);
    this.parent = parents(of.depth);
    this.total = of.self.map((self) => totals(self, this.parent));
    this.groups = (of.groups ?? []).map((group) => totals(group, this.parent));
    this.hash = paths(of, this.parent);
    this.first = new Int32Array(n + 1);
    for (let i = 1; i < n; i++) this.first[this.parent[i]! + 1]!++;
    for (let i = 0; i < n; i++) this.first[i + 1]! += this.first[i]!;
    const next = this.first.slice();
    this.kids = new Int32Array(Math.max(0, n - 1));
    for (let i = 1; i < n; i++) this.kids[next[this.parent[i]!]!++] = i;
    this.x = new Float64Array(n);
    this.w = new Float64Array(n);
    for (const [node, count] of of.others) this.others.set(node, count);
  }

  name(node: number): string { return node === 0 ? this.root : this.of.names[this.of.function[node]!]!; }
  file(node: number): string { return this.of.texts[this.of.files[this.of.function[node]!]!] ?? ""; }
  line(node: number): number { return this.of.lines[this.of.function[node]!] ?? 0; }
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
    for (const h of hashes) {
      const at = this.hash.indexOf(h);
      if (at >= 0) return at;
    }
    return 0;
  }

  // lay lays the frames out. The width of a frame of two sides is the larger value of each node, so that a frame is as
  // wide as all below it.
  lay(side: Side, isByName: boolean) {
    const n = this.size, { self } = this.of;
    const a = self[side === "after" && self.length > 1 ? 1 : 0]!, b = side === "" && self.length > 1 ? self[1]! : a;
    for (let i = 0; i < n; i++) this.w[i] = Math.max(Math.abs(a[i]!), Math.abs(b[i]!));
    for (let i = n - 1; i > 0; i--) this.w[this.parent[i]!]! += this.w[i]!;
    const compare = isByName ? (p: number, q: number) => order(this.name(p), this.name(q)) : (p: number, q: number) => this.w[q]! - this.w[p]! || order(this.name(p), this.name(q));
    for (let i = 0; i < n; i++) if (this.first[i + 1]! - this.first[i]! > 1) this.children(i).sort(compare);
    this.levels = [];
    for (let ids = n ? [0] : []; ids.length; ids = this.below(ids)) this.levels.push(this.level(ids));
  }

  private below(ids: number[]): number[] {
    const out: number[] = [];
    for (const id of ids) {
      let x = this.x[id]!;
      for (const kid of this.children(id)) {
        this.x[kid] = x;
        x += this.w[kid]!;
        if (this.w[kid]! > 0) out.push(kid);
      }
    }
    return out;
  }

  private level(ids: number[]): Level {
    return { id: Int32Array.from(ids), x: Float64Array.from(ids, (i) => this.x[i]!), w: Float64Array.from(ids, (i) => this.w[i]!) };
  }

  // group returns a number for each function: of its package, file or binary.
  group(by: string): Uint8Array {
    const { names, texts, files, binaries } = this.of;
    return Uint8Array.from(names, (name, f) => hashText(by === "file" ? texts[files[f]!]! : by === "binary" ? texts[binaries[f]!]! : packageOf(name)) % 251);
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
  const out = Float64Array.from(self);
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
