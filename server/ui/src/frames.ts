// Frames as patterns and texts.

import type { Tree } from "./tree";

// exactly returns the pattern of one name.
export const exactly = (name: string) => "^" + name.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&") + "$";

// stackText returns the frames from the root to one, a line each.
export function stackText(tree: Tree, node: number): string {
  return tree.path(node).slice(1).map((n) => tree.name(n)).join("\n");
}

// regular returns a pattern as the page can use it; the server has the last word on it.
export function regular(pattern: string): RegExp | null {
  try { return pattern ? new RegExp(pattern) : null; } catch { return null; }
}
