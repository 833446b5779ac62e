// The wheel and the drag over a graph.

// Gestures are what they do. Places and ways are parts of the width of the graph.
export interface Gestures {
  zoom: (factor: number, around: number) => void;
  pan: (by: number) => void;
  isWhole: () => boolean; // nothing is beside or above what is seen
}

const perNotch = 100; // pixels that a notch of most wheels scrolls

// listen makes an element zoom and pan, until what it returns is called. With Ctrl or Command, or two fingers apart, the wheel
// zooms. Without, it scrolls, and zooms if there is nothing to scroll. Sideways or with Shift it pans.
export function listen(host: HTMLElement, g: Gestures): () => void {
  const wheel = (e: WheelEvent) => {
    const size = e.deltaMode === 1 ? 16 : e.deltaMode === 2 ? host.clientHeight : 1, r = host.getBoundingClientRect();
    const dx = (e.shiftKey && !e.deltaX ? e.deltaY : e.deltaX) * size, dy = e.shiftKey ? 0 : e.deltaY * size;
    if (e.ctrlKey || e.metaKey || dy && Math.abs(dy) > Math.abs(dx) && isStill(host)) {
      e.preventDefault();
      const step = (e.deltaY || e.deltaX) * size * (e.ctrlKey && Math.abs(e.deltaY) < 50 ? 4 : 1); // fingers move by few pixels
      g.zoom(1.25 ** Math.max(-4, Math.min(4, step / perNotch)), (e.clientX - r.left) / r.width);
    } else if (dx && Math.abs(dx) > Math.abs(dy) && !g.isWhole()) {
      e.preventDefault();
      g.pan(dx / r.width);
    }
  };
  host.addEventListener("wheel", wheel, { passive: false });
  const stop = drag(host, (by, down) => { g.pan(-by / host.clientWidth); host.scrollTop -= down; }, g.isWhole);
  return () => { host.removeEventListener("wheel", wheel); stop(); };
}

// isStill reports whether neither an element nor what it is in can be scrolled up or down.
function isStill(el: HTMLElement | null): boolean {
  for (; el; el = el.parentElement) if (el.scrollHeight > el.clientHeight + 1 && /auto|scroll/.test(getComputedStyle(el).overflowY)) return false;
  return document.documentElement.scrollHeight <= innerHeight + 1;
}

const threshold = 4; // pixels that a click may move

// drag calls a function with each way of a drag in pixels. The click that would follow is taken away.
function drag(host: HTMLElement, move: (x: number, y: number) => void, isWhole: () => boolean): () => void {
  let at: { x: number; y: number } | null = null, isDrag = false;
  const down = (e: PointerEvent) => {
    isDrag = false;
    at = e.button === 0 && e.pointerType !== "touch" && !(isWhole() && host.scrollHeight <= host.clientHeight) ? { x: e.clientX, y: e.clientY } : null;
  };
  const moving = (e: PointerEvent) => {
    if (!at || !isDrag && Math.hypot(e.clientX - at.x, e.clientY - at.y) < threshold) return;
    if (!isDrag) host.setPointerCapture(e.pointerId);
    isDrag = true;
    host.classList.add("dragged");
    move(e.clientX - at.x, e.clientY - at.y);
    at = { x: e.clientX, y: e.clientY };
  };
  const up = () => { at = null; host.classList.remove("dragged"); };
  const click = (e: MouseEvent) => { if (isDrag) e.stopPropagation(); isDrag = false; };
  const all: [string, (e: never) => void, boolean][] = [["pointerdown", down, false], ["pointermove", moving, false], ["pointerup", up, false], ["pointercancel", up, false], ["click", click, true]];
  for (const [what, f, isFirst] of all) host.addEventListener(what, f as EventListener, isFirst);
  return () => { for (const [what, f, isFirst] of all) host.removeEventListener(what, f as EventListener, isFirst); };
}
