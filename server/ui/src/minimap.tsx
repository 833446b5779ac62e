// The whole of a graph above it, and a handle on what is seen.

import { useEffect, useRef } from "preact/hooks";
import { on } from "./events";
import { place, type Tree } from "./tree";
import type { Look, Span } from "./flame";
import { between, moved } from "./seen";

// Map is what a graph does with it: paint draws the whole, mark moves the handle.
export interface Map { paint: (tree: Tree, look: Look) => void; mark: (tree: Tree, seen: Span | undefined) => void }

interface Props { map: { current: Map | null }; tree: Tree; seen: () => Span | undefined; see: (span: Span | undefined) => void }

// MiniMap is for the pointer: keys do the same in the graph. A drag of the handle moves it, another one chooses what is seen.
export function MiniMap({ map, tree, seen, see }: Props) {
  const host = useRef<HTMLDivElement>(null), canvas = useRef<HTMLCanvasElement>(null), handle = useRef<HTMLDivElement>(null);
  map.current = {
    paint: (tree, look) => canvas.current && overview(canvas.current, host.current!, tree, look),
    mark: (tree, span) => {
      const el = handle.current;
      if (!el) return;
      el.hidden = !span;
      if (!span) return;
      el.style.left = 100 * span[0] / tree.w[0]! + "%";
      el.style.width = `max(5px, ${100 * (span[1] - span[0]) / tree.w[0]!}%)`;
    },
  };
  const latest = useRef({ tree, seen, see });
  latest.current = { tree, seen, see };
  useEffect(() => {
    const el = host.current!;
    let from: number | null = null, grip: Span | null = null;
    const part = (e: PointerEvent) => { const r = el.getBoundingClientRect(); return Math.max(0, Math.min(1, (e.clientX - r.left) / r.width)); };
    const down = (e: PointerEvent) => {
      if (e.button) return;
      from = part(e);
      grip = e.target === handle.current ? latest.current.seen() ?? null : null;
      el.setPointerCapture(e.pointerId);
    };
    const move = (e: PointerEvent) => {
      if (from === null) return;
      const { tree, see } = latest.current, to = part(e);
      if (grip) see(moved(tree, grip, (to - from) * tree.w[0]! / (grip[1] - grip[0])));
      else if (Math.abs(to - from) > 0.005) see(between(tree, from, to));
    };
    const up = () => { from = null; };
    return on(el, { pointerdown: down, pointermove: move, pointerup: up, pointercancel: up, dblclick: () => latest.current.see(undefined) });
  }, []);
  return <div class="minimap" ref={host} aria-hidden="true" title="all of the graph: drag to choose what is seen"><canvas ref={canvas} /><div class="handle" ref={handle} hidden /></div>;
}

// overview draws each level as a line, or some of them if there are more than pixels, and of a pixel its first frame.
function overview(canvas: HTMLCanvasElement, host: HTMLElement, tree: Tree, look: Look) {
  const width = host.clientWidth, height = host.clientHeight, ctx = canvas.getContext("2d")!, all = tree.w[0] || 1;
  canvas.width = width;
  canvas.height = height;
  ctx.fillStyle = look.background;
  ctx.fillRect(0, 0, width, height);
  const rows = Math.min(height, tree.levels.length), tall = Math.min(3, height / rows);
  for (let y = 0; y < rows; y++) {
    const level = tree.levels[Math.floor(y * tree.levels.length / rows)]!;
    for (let i = 0; i < level.id.length; ) {
      const left = level.x[i]! / all * width, right = left + Math.max(1, level.w[i]! / all * width), f = tree.of.function[level.id[i]!]!;
      ctx.fillStyle = look.hits?.[f] ? look.hit : f < 2 ? look.rest : tree.sides > 1 || look.hits ? look.run : look.fills[look.group(f) % look.fills.length]!;
      ctx.fillRect(left, y * tall, right - left, tall);
      i = Math.max(i + 1, look.hits ? 0 : place(level, right / width * all, i));
    }
  }
}
