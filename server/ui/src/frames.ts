// Frames as patterns and texts.

import type { Tree } from "./tree";

// exactly returns the pattern of one name.
export const exactly = (name: string) => "^" + name.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&") + "$";

// only returns the name that a pattern is of alone, as a row of the table makes it: it filters nothing.
export function only(pattern: string): string | null {
  const name = /^\^(.*)\$$/s.exec(pattern)?.[1]?.replace(/\\(?=[\\^$.*+?()[\]{}|])/g, "");
  return name !== undefined && exactly(name) === pattern ? name : null;
}

// functionName returns the name of the function that a frame is of.
export const functionName = (name: string, granularity: string) => (granularity === "line" ? name.replace(/:\d+$/, "") : name);

// framePattern returns the pattern of the functions, files or binaries that a frame stands for.
export function framePattern(name: string, granularity: string): string {
  const pattern = exactly(functionName(name, granularity));
  return granularity === "package" ? pattern.replace(/\$$/, "([.]|::)") : pattern;
}

// stackText returns the frames from the root to one, a line each.
export function stackText(tree: Tree, node: number): string {
  return tree.path(node).slice(1).map((n) => tree.name(n)).join("\n");
}

// regular returns a pattern as the page can use it; the server has the last word on it.
export function regular(pattern: string): RegExp | null {
  try { return pattern ? new RegExp(pattern) : null; } catch { return null; }
}
