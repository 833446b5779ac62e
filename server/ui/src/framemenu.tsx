// What can be done with a frame.

import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { exactly, framePattern, functionName, stackText } from "./frames";
import { text } from "./format";
import type { Handle } from "./graphkeys";
import { useOutside, walkMenu } from "./events";
import { copy } from "./page";

export function FrameMenu({ x, y, node, handle, close }: { x: number; y: number; node: number; handle: Handle; close: () => void }) {
  const place = useRef<HTMLDivElement>(null), { tree, page: { state, go } } = handle, name = tree.name(node), only = framePattern(name, state.gran);
  useLayoutEffect(() => {
    const el = place.current!;
    el.style.left = Math.max(4, Math.min(x, innerWidth - el.offsetWidth - 8)) + "px";
    el.style.top = Math.max(4, Math.min(y, innerHeight - el.offsetHeight - 8)) + "px";
    el.querySelector("button")?.focus();
  }, [x, y]);
  useEffect(() => {
    const before = document.activeElement instanceof HTMLElement ? document.activeElement : null;
    return () => { before?.isConnected && before.focus(); };
  }, []);
  useOutside(true, place, close);
  const actions: [string, () => void][] = [
    ["zoom to it", () => handle.zoom(node)],
    ["only stacks with it", () => go({ focus: only, z: "" })],
    ["only stacks without it", () => go({ ignore: state.ignore ? state.ignore + "|" + only : only, z: "" })],
    ["hide such frames", () => go({ hide: state.hide ? state.hide + "|" + only : only })],
    ...(handle.around ? [["callers and callees here", () => handle.around!(node)] as [string, () => void]] : []),
    ["callers and callees", () => go({ v: "sandwich", fn: name })],
    ["lines of source", () => go({ v: "source", fn: functionName(name, state.gran) })],
    ["search for it", () => go({ s: exactly(name) })],
    ["copy the name", () => void copy("the name", name)],
    ["copy the stack", () => void copy("the stack", stackText(tree, node))],
  ];
  return (
    <div class="menu frame-menu" role="menu" aria-label={text(name, 100)} ref={place} onKeyDown={(e) => walkMenu(e, place.current!, close)}>
      {actions.map(([what, run]) => <button type="button" role="menuitem" key={what} onClick={() => { close(); run(); }}>{what}</button>)}
    </div>
  );
}
