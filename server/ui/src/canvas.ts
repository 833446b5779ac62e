// What all canvases of the page do.

import { on } from "./events";

// Fitted is a canvas in the size of its place. Units of its context are pixels of the page, whatever the screen has.
export interface Fitted { ctx: CanvasRenderingContext2D; width: number; height: number }

// fit gives a canvas the size of an element. One that has it keeps what is drawn.
export function fit(canvas: HTMLCanvasElement | null, host: HTMLElement | null): Fitted | null {
  const ctx = canvas?.getContext("2d");
  if (!canvas || !host || !ctx) return null;
  const ratio = devicePixelRatio || 1, width = host.clientWidth, height = host.clientHeight;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.width = width + "px";
    canvas.style.height = height + "px";
  }
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  return { ctx, width, height };
}

// css returns a value of the page's style, such as a colour.
export const css = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// onColours calls a function whenever the colours of the page change, until what it returns is called.
export function onColours(changed: () => void): () => void {
  const stops = [on(window, { theme: changed }), on(matchMedia("(prefers-color-scheme: dark)"), { change: changed })];
  return () => stops.forEach((stop) => stop());
}

// afterFrame waits for the next frame. A page behind others has none.
export const afterFrame = () => new Promise((done) => { requestAnimationFrame(() => setTimeout(done)); setTimeout(done, 200); });
