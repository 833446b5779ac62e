// What is seen of a graph beside its zoom to a frame: what the wheel, a drag and the keys make of it.

import type { Span } from "./flame";
import type { Tree } from "./tree";

const least = 1e-6; // of the root's width

// clamped returns a span of a length that begins as near to a place as the root allows.
function clamped(tree: Tree, from: number, length: number): Span | undefined {
  const all = tree.w[0]!, size = Math.min(all, Math.max(length, all * least)), at = Math.max(0, Math.min(from, all - size));
  return size < all ? [at, at + size] : undefined;
}

// zoomed returns a span that is longer by a factor, around a place that stays: a part of its length. Without a span all is seen.
export function zoomed(tree: Tree, [from, to]: Span, factor: number, around: number): Span | undefined {
  const length = (to - from) * factor;
  return clamped(tree, from + around * (to - from - Math.min(length, tree.w[0]!)), length);
}

// moved returns a span that is moved by a part of its length.
export const moved = (tree: Tree, [from, to]: Span, by: number) => clamped(tree, from + by * (to - from), to - from);

// between returns the span of two parts of the root's width, in any order.
export const between = (tree: Tree, a: number, b: number) => clamped(tree, Math.min(a, b) * tree.w[0]!, Math.abs(a - b) * tree.w[0]!);

// showing returns a span that has some of a frame, moved if this one has not.
export function showing(tree: Tree, span: Span, node: number): Span | undefined {
  const [from, to] = span, x = tree.x[node]!, end = x + tree.w[node]!;
  return x < to && end > from ? span : clamped(tree, (x + end - to + from) / 2, to - from);
}

// printSpan and parseSpan are for the address: parts of the root's width.
export const printSpan = (tree: Tree, span: Span | undefined) => (span ? span.map((v) => Number((v / tree.w[0]!).toPrecision(7))).join("~") : "");

export function parseSpan(tree: Tree, text: string): Span | undefined {
  const [a, b] = text.split("~").map(Number);
  return a! >= 0 && b! > a! && b! <= 1 ? between(tree, a!, b!) : undefined;
}
