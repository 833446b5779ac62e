// A directed graph in layers: each node below the nodes that lead to it, as far as there is no circle.

export interface Edge { from: number; to: number }

// Placed are the places of nodes, in columns and rows that need not be whole, and of each edge the points between its ends.
export interface Placed { x: Float64Array; row: Int32Array; ways: [x: number, row: number][][]; columns: number; rows: number }

const sweeps = 8;

// layers places nodes, of which the first ones are the most important.
export function layers(n: number, edges: Edge[]): Placed {
  const row = rank(n, edges), rows = 1 + Math.max(0, ...row), line: number[][] = Array.from({ length: rows }, () => []);
  const ends: [above: number, below: number][] = [], ways: number[][] = []; // an edge over several rows has a point in each of them
  let size = 0;
  const add = (r: number) => { line[r]!.push(size); return size++; };
  for (let i = 0; i < n; i++) add(row[i]!);
  for (const { from, to } of edges) {
    const isUp = row[from]! > row[to]!, low = isUp ? from : to, way: number[] = [];
    let at = isUp ? to : from;
    for (let r = row[at]! + 1; r < row[low]!; r++) { const point = add(r); way.push(point); ends.push([at, point]); at = point; }
    if (at !== low) ends.push([at, low]);
    ways.push(isUp ? way.reverse() : way);
  }
  const above: number[][] = Array.from({ length: size }, () => []), below: number[][] = Array.from({ length: size }, () => []);
  for (const [a, b] of ends) { above[b]!.push(a); below[a]!.push(b); }
  const x = new Float64Array(size), rowOf = new Int32Array(size), room = (i: number) => (i < n ? 1 : 0.35);
  line.forEach((all, r) => all.forEach((i) => { rowOf[i] = r; }));
  const mean = (all: number[], otherwise: number) => (all.length ? all.reduce((s, i) => s + x[i]!, 0) / all.length : otherwise);
  for (const all of line) spread(all, all.map((_, i) => i), x, room);
  for (let s = 0; s < sweeps; s++) {
    const isDown = s % 2 === 0, order = isDown ? line : line.toReversed();
    for (const all of order) {
      const wanted = new Map(all.map((i) => [i, mean((isDown ? above : below)[i]!, x[i]!)]));
      all.sort((a, b) => wanted.get(a)! - wanted.get(b)! || a - b);
      spread(all, all.map((i) => wanted.get(i)!), x, room);
    }
  }
  const least = Math.min(...Array.from(x, (v, i) => v - room(i) / 2));
  for (let i = 0; i < size; i++) x[i]! -= least;
  return { x, row: rowOf, ways: ways.map((w) => w.map((i) => [x[i]!, rowOf[i]!])), columns: Math.max(...Array.from(x, (v, i) => v + room(i) / 2)), rows };
}

// rank returns the rows: the longest way to a node, without the edges that close a circle.
function rank(n: number, edges: Edge[]): Int32Array {
  const out = Array.from({ length: n }, () => [] as number[]), into = new Int32Array(n), state = new Uint8Array(n), done: number[] = [];
  for (const { from, to } of edges) if (from !== to) { out[from]!.push(to); into[to]!++; }
  const row = new Int32Array(n), down = Array.from({ length: n }, () => [] as number[]);
  const visit = (at: number) => {
    state[at] = 1;
    for (const to of out[at]!) {
      if (state[to] === 1) continue; // back to where it came from
      down[at]!.push(to);
      if (!state[to]) visit(to);
    }
    state[at] = 2;
    done.push(at);
  };
  for (const isRoot of [true, false]) for (let i = 0; i < n; i++) if (!state[i] && (!isRoot || !into[i])) visit(i);
  for (const at of done.reverse()) for (const to of down[at]!) row[to] = Math.max(row[to]!, row[at]! + 1);
  return row;
}

// spread gives places to the nodes of a row, in their order, as near to the wanted ones as they have room.
function spread(all: number[], wanted: number[], x: Float64Array, room: (i: number) => number) {
  const groups: { at: number; sum: number; n: number; length: number; nodes: number[] }[] = []; // nodes that touch; at is the middle of the first
  all.forEach((i, k) => {
    groups.push({ at: wanted[k]!, sum: wanted[k]!, n: 1, length: 0, nodes: [i] });
    for (let g = groups.length - 1; g > 0; g = groups.length - 1) {
      const a = groups[g - 1]!, b = groups[g]!, gap = (room(a.nodes.at(-1)!) + room(b.nodes[0]!)) / 2;
      if (a.at + a.length + gap <= b.at) break;
      a.sum += b.sum - b.n * (a.length + gap);
      a.n += b.n;
      a.length += gap + b.length;
      a.nodes.push(...b.nodes);
      a.at = a.sum / a.n;
      groups.pop();
    }
  });
  for (const g of groups) {
    let at = g.at;
    g.nodes.forEach((i, k) => { if (k) at += (room(g.nodes[k - 1]!) + room(i)) / 2; x[i] = at; });
  }
}
