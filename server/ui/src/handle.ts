// What keys and menus can do with a graph.

import type { Page } from "./page";
import type { Tree } from "./tree";

// Handle is what keys and menus do with a graph.
export interface Handle {
  tree: Tree; page: Page; isUp: boolean;
  focused: number; zoomed: number;
  hits: number[];
  focus: (node: number) => void;
  zoom: (node: number) => void;
}
