// A flame graph: the canvas, its pointer and keys, and the tree beside it for screen readers.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { saveAs, type Group } from "./api";
import { showAround } from "./around";
import { afterFrame, css, fit, onColours } from "./canvas";
import { change, percent, text, value } from "./format";
import { at, box, draw, rowHeight, search, spanOf, type Look, type Span, type View } from "./flame";
import { pointed } from "./framebox";
import { exactly, regular } from "./frames";
import { FrameMenu } from "./framemenu";
import { listen } from "./gestures";
import { graphKey, type Handle } from "./graphkeys";
import { MiniMap, type Map } from "./minimap";
import { details, inView, lit, mostFrames, spoken, type Page } from "./page";
import type { Noise } from "./noise";
import { moved, parseSpan, printSpan, showing, zoomed as zoomedBy } from "./seen";
import { groupFill, groupName } from "./states";
import { Tree, otherText, type Columns, type Side } from "./tree";

interface Props {
  page: Page;
  of: Columns;
  label: string;
  isUp?: boolean; // the root is at the bottom
  side?: Side; // of a difference
  hasZoom?: boolean; // the zoom is that of the address
  root?: string; // its name
  shares?: Group[]; // what the groups of the nodes are
  noise?: Noise; // of a difference
}

// look reads the colours of the page's style.
function look(tree: Tree, by: string, hits: Uint8Array | null, ctx: CanvasRenderingContext2D, shares?: Group[], noise?: Noise): Look {
  const font = css("--frame-font");
  ctx.font = font;
  const all = (name: string, n: number) => Array.from({ length: n }, (_, i) => css(name + i));
  return {
    ink: css("--frame-ink"), faint: css("--faint"), rest: css("--rest"), run: css("--run"), hit: css("--accent"), dim: css("--dim"), line: css("--rule"),
    background: css("--surface"), strong: css("--strong"), font, charWidth: ctx.measureText("M").width,
    fills: all("--fill", 8), changes: all("--change", 7), group: tree.group(by), hits, noise: noise && Uint8Array.from(tree.of.names, (name) => (noise(name)?.cum ? 1 : 0)),
    heat: by === "value" ? all("--change", 7).slice(3) : undefined,
    shares: shares && { fills: shares.map((g) => css(groupFill(g) < 0 ? "--rest" : "--state" + groupFill(g))), isWhole: by === "state" },
  };
}

export function Graph({ page, of, label, isUp = false, side = "", hasZoom = false, root, shares, noise }: Props) {
  const { state, go } = page;
  const tree = useMemo(() => { const t = new Tree(of, root); t.lay(side, state.o === "name"); return t; }, [of, side, state.o, root]);
  const [ownZoom, setOwnZoom] = useState(0);
  const [focused, setFocused] = useState(0);
  const [menu, setMenu] = useState<{ x: number; y: number; node: number } | null>(null);
  const lastPath = useRef<number[]>([]);
  const zoomed = hasZoom ? zoomOf(tree, state.z, lastPath.current) : Math.min(ownZoom, tree.size - 1);
  const only = lit.use();
  const found = useMemo(() => { const p = regular(only === tree.name(0) ? "" : only ? exactly(only) : state.s); return p && search(tree, p); }, [tree, state.s, only]);
  // These run before the next key: a focus that came later would take back its step.
  useLayoutEffect(() => { lastPath.current = zoomed ? tree.path(zoomed).reverse().map((n) => tree.hash[n]!) : []; }, [tree, zoomed]);
  useLayoutEffect(() => { setFocused(zoomed); if (hasZoom) inView.name = zoomed ? tree.name(zoomed) : ""; }, [tree, zoomed]);

  const seen = useRef<Span | undefined>(undefined), paint = useRef(() => {});
  const parsed = useMemo(() => (hasZoom ? parseSpan(tree, state.win) : undefined), [tree, zoomed, state.win]);
  useMemo(() => { seen.current = parsed; }, [parsed, zoomed]);
  const told = useRef(0);
  const see = (span: Span | undefined) => { // drawn at once, and in the address when it rests
    seen.current = span ?? (zoomed ? [0, tree.w[0]!] : undefined);
    pointed.set(null);
    requestAnimationFrame(() => paint.current());
    clearTimeout(told.current);
    if (hasZoom) told.current = window.setTimeout(() => go({ win: printSpan(tree, span), ...(span ? {} : { z: "" }) }, true), 250);
    else if (!span) setOwnZoom(0);
  };
  useEffect(() => () => clearTimeout(told.current), [tree, zoomed]);

  const zoom = (node: number) => {
    seen.current = undefined;
    if (hasZoom && tree.isOther(node) && Number(state.n) < mostFrames) go({ n: String(mostFrames) }); // what it stands for
    else if (hasZoom) go({ z: node ? tree.hash[node]!.toString(16) : "", win: "", ...(node && state.near ? { near: tree.name(node) } : {}) });
    else setOwnZoom(node);
    spoken.set("zoomed to " + text(tree.name(node), 100));
  };
  const span = () => seen.current ?? spanOf(tree, { width: 1, height: 1, top: 0, isUp, zoomed });
  const handle: Handle = { tree, page, isUp, focused, zoomed, hits: found?.nodes ?? [], focus: setFocused, zoom, span, see, around: hasZoom ? (node) => showAround(page, tree.name(node)) : undefined };
  const safe = focused < tree.size ? focused : 0;
  const say = (node: number) => describe(tree, node, page.unit, zoomed, shares);
  useLayoutEffect(() => details.set(say(safe)), [tree, safe, zoomed]);
  return (
    <div class="graph">
      <Canvas handle={{ ...handle, focused: safe }} by={state.c} hits={found?.hits ?? null} menu={setMenu} label={label} shares={shares} noise={noise} say={say} seen={seen} paint={paint} hasMap={hasZoom} />
      {menu && <FrameMenu {...menu} handle={handle} close={() => setMenu(null)} />}
    </div>
  );
}

// zoomOf returns the frame of a hash; if it is gone, its nearest caller that is still there.
function zoomOf(tree: Tree, z: string, last: number[]): number {
  if (!z) return 0;
  const hash = parseInt(z, 16);
  return tree.find(hash, ...(last[0] === hash ? last.slice(1) : []));
}

interface CanvasProps {
  handle: Handle; by: string; hits: Uint8Array | null; label: string; shares?: Group[]; noise?: Noise; say: (node: number) => string; menu: (m: { x: number; y: number; node: number } | null) => void;
  seen: { current: Span | undefined }; paint: { current: () => void }; hasMap: boolean;
}

function Canvas({ handle, by, hits, label, shares, noise, say, menu, seen, paint, hasMap }: CanvasProps) {
  const { tree, zoomed, focused, isUp } = handle;
  const scroll = useRef<HTMLDivElement>(null), canvas = useRef<HTMLCanvasElement>(null), hover = useRef<HTMLDivElement>(null), mark = useRef<HTMLDivElement>(null);
  const view = useRef<View>({ width: 0, height: 0, top: 0, zoomed, isUp }), map = useRef<Map | null>(null);
  const looks = useRef<{ of: unknown[]; look: Look } | null>(null), theme = useRef(0);
  paint.current = () => {
    const fitted = fit(canvas.current, scroll.current);
    if (!fitted) return;
    const { ctx, width, height } = fitted;
    view.current = { width, height, top: scroll.current!.scrollTop, zoomed, isUp, seen: seen.current };
    const of = [tree, by, hits, shares, noise, theme.current, width];
    if (!looks.current || of.some((v, i) => v !== looks.current!.of[i])) {
      const now = look(tree, by, hits, ctx, shares, noise);
      looks.current = { of, look: now };
      void afterFrame().then(() => map.current?.paint(tree, now)); // the graph first
    }
    draw(ctx, tree, view.current, looks.current.look);
    map.current?.mark(tree, seen.current ?? (zoomed ? handle.span() : undefined));
    outline(mark.current, box(tree, view.current, focused));
    outline(hover.current, null);
  };
  useLayoutEffect(() => paint.current());
  useLayoutEffect(() => { if (isUp && scroll.current) scroll.current.scrollTop = 1e9; }, [tree]);
  useLayoutEffect(() => {
    reveal(scroll.current, tree, isUp, focused);
    const other = focused && seen.current && showing(tree, seen.current, focused);
    if (other && other !== seen.current) handle.see(other);
  }, [tree, focused]);
  useEffect(() => {
    const again = () => requestAnimationFrame(() => paint.current());
    const size = new ResizeObserver(again), stop = onColours(() => { theme.current++; again(); });
    size.observe(scroll.current!);
    return () => { size.disconnect(); stop(); pointed.set(null); };
  }, []);
  const latest = useRef(handle);
  latest.current = handle;
  useEffect(() => listen(scroll.current!, {
    zoom: (factor, around) => { const { tree, span, see } = latest.current; see(zoomedBy(tree, span(), factor, around)); },
    pan: (by) => { const { tree, span, see } = latest.current; see(moved(tree, span(), by)); },
    isWhole: () => { const { tree, span } = latest.current, [from, to] = span(); return to - from >= tree.w[0]!; },
  }), []);
  const nodeAt = (e: PointerEvent | MouseEvent) => {
    const r = canvas.current!.getBoundingClientRect();
    return at(tree, view.current, e.clientX - r.left, e.clientY - r.top);
  };
  // show puts the box of values at a frame, beside the pointer or a part of the frame that is seen.
  const show = (node: number, pointer?: number) => {
    const r = canvas.current!.getBoundingClientRect(), [x, y, width] = box(tree, view.current, node), top = r.top + y;
    pointed.set({ tree, node, unit: handle.page.unit, zoomed, shares, place: width < 0 && pointer === undefined ? null : { top, bottom: top + rowHeight, x: pointer ?? r.left + x } });
  };
  const hide = () => pointed.value && pointed.set({ ...pointed.value, place: null });
  const point = (e: PointerEvent) => {
    const node = e.buttons ? -1 : nodeAt(e);
    outline(hover.current, node < 0 ? null : box(tree, view.current, node));
    if (node < 0) return hide();
    details.set(say(node));
    show(node, e.clientX);
  };
  const down = (e: MouseEvent) => { // so that keys go on from here
    e.preventDefault();
    scroll.current!.querySelector<HTMLElement>("[role=tree]")!.focus({ preventScroll: true });
  };
  const click = (e: MouseEvent) => {
    const node = nodeAt(e);
    if (e.detail === 2) return handle.zoom(0); // all again
    if (node < 0) return;
    handle.focus(node);
    if (node !== zoomed || seen.current) handle.zoom(node);
  };
  const more = (e: MouseEvent) => {
    const node = nodeAt(e);
    if (node <= 0) return;
    e.preventDefault();
    hide();
    handle.focus(node);
    menu({ x: e.clientX, y: e.clientY, node });
  };
  const isKey = useRef(false); // the last step was one of a key: the box follows it
  useLayoutEffect(() => { if (isKey.current) show(focused); }, [tree, focused, zoomed]);
  const key = (e: KeyboardEvent) => {
    isKey.current = /^Arrow|^[nN]$/.test(e.key) && !e.ctrlKey && !e.metaKey && !e.altKey;
    if (e.key === "ContextMenu" || (e.key === "F10" && e.shiftKey)) {
      const [x, y] = box(tree, view.current, focused), r = canvas.current!.getBoundingClientRect();
      if (focused) menu({ x: r.left + x + 8, y: r.top + y + rowHeight, node: focused });
      e.preventDefault();
    } else if (e.shiftKey && (e.key === "ArrowUp" || e.key === "ArrowDown")) {
      scroll.current!.scrollTop += (e.key === "ArrowUp" ? -4 : 4) * rowHeight;
      e.preventDefault();
    } else if (graphKey(e, handle)) {
      e.preventDefault();
      if (e.key === "Escape") hide();
    }
  };
  return (
    <div class="flame-place" onMouseDown={down}>
      {hasMap && <MiniMap map={map} tree={tree} seen={() => seen.current ?? handle.span()} see={handle.see} />}
      <div class="flame" ref={scroll} onScroll={() => { hide(); paint.current(); }} onPointerMove={point} onPointerLeave={() => { outline(hover.current, null); hide(); }} onClick={click} onContextMenu={more}>
        <canvas ref={canvas} aria-hidden="true" />
        <Spacer height={tree.levels.length * rowHeight} />
        <div class="mark hover" ref={hover} hidden /><div class="mark" ref={mark} hidden />
        <Beside tree={tree} focused={focused} say={say} label={label} onKey={key} onBlur={hide} />
      </div>
    </div>
  );
}

function Spacer({ height }: { height: number }) {
  return <div class="spacer" ref={(el) => { if (el) { el.style.height = height + "px"; el.parentElement!.style.setProperty("--tall", height + "px"); } }} />;
}

// outline puts a mark around a frame.
function outline(el: HTMLElement | null, to: [number, number, number] | null) {
  if (!el) return;
  el.hidden = !to || to[2] < 0;
  if (!to) return;
  el.style.transform = `translate(${to[0]}px, ${to[1]}px)`;
  el.style.width = Math.max(2, to[2] - 1) + "px";
  el.style.height = rowHeight - 1 + "px";
}

// reveal scrolls a frame into view.
function reveal(host: HTMLElement | null, tree: Tree, isUp: boolean, node: number) {
  if (!host || !node) return;
  const d = tree.of.depth[node]!, y = (isUp ? tree.levels.length - 1 - d : d) * rowHeight;
  if (y < host.scrollTop) host.scrollTop = Math.max(0, y - rowHeight);
  else if (y + 2 * rowHeight > host.scrollTop + host.clientHeight) host.scrollTop = y + 2 * rowHeight - host.clientHeight;
}

// describe is the line of a frame: name, place, own and total values.
export function describe(tree: Tree, node: number, unit: string, zoomed = 0, shares: Group[] = []): string {
  const last = tree.sides - 1, all = tree.total[last]![0]!, file = tree.file(node), parts = [text(tree.name(node), 200)];
  if (tree.isOther(node)) parts[0] = otherText;
  if (file) parts.push(text(file, 120));
  const t = tree.total[last]![node]!;
  if (tree.sides > 1) parts.push(`${value(tree.total[0]![node]!, unit)} → ${value(t, unit)}`, change(tree.total[0]![node]!, t));
  else parts.push(value(tree.self(node, 0), unit) + " self", value(t, unit) + " total");
  if (zoomed && t <= tree.total[last]![zoomed]!) parts.push(percent(t, tree.total[last]![zoomed]!) + " of view");
  parts.push(`${percent(t, all)} of ${text(tree.name(0), 100)}`);
  if (shares.length) parts.push(shareText(shares, (g) => tree.groups[g]![node]!));
  return parts.join("  ·  ");
}

// shareText says how values divide by state, the largest first.
export function shareText(shares: Group[], of: (group: number) => number): string {
  const all = shares.map((g, i) => ({ name: groupName(g), v: of(i) })).filter(({ v }) => v), sum = all.reduce((n, { v }) => n + Math.abs(v), 0);
  return all.sort((a, b) => Math.abs(b.v) - Math.abs(a.v)).map(({ name, v }) => `${name} ${percent(Math.abs(v), sum)}`).join(", ");
}

const mostItems = 60;

// Beside is the tree of what is around the focused frame: its path, and its children. It has the keys of the graph.
function Beside({ tree, focused, say, label, onKey, onBlur }: { tree: Tree; focused: number; say: (node: number) => string; label: string; onKey: (e: KeyboardEvent) => void; onBlur: () => void }) {
  const parent = tree.parent[focused]!, kids = Array.from(tree.children(focused)).slice(0, mostItems - 2);
  const id = (n: number) => `${label.replace(/\W/g, "")}-${n}`;
  const siblings = parent < 0 ? 1 : tree.children(parent).length;
  const item = (n: number, pos: number, of: number) => (
    <div role="treeitem" id={id(n)} key={n} aria-level={tree.of.depth[n]! + 1} aria-posinset={pos} aria-setsize={of} aria-selected={n === focused}
      aria-expanded={tree.children(n).length ? n === focused || n === parent : undefined}>{say(n)}</div>
  );
  const place = parent < 0 ? 1 : tree.children(parent).indexOf(focused) + 1;
  return (
    <div class="beside" role="tree" tabIndex={0} aria-label={label} aria-activedescendant={id(focused)} onKeyDown={onKey} onBlur={onBlur}>
      {parent >= 0 && item(parent, 1, 1)}
      {item(focused, place, siblings)}
      {kids.map((n, i) => item(n, i + 1, tree.children(focused).length))}
    </div>
  );
}

const captionHeight = 18;

// saveGraph saves the graphs of the view as a picture, below texts that say what they are of.
export function saveGraph(texts: string[]) {
  const graphs = [...document.querySelectorAll<HTMLCanvasElement>(".flame canvas")], out = document.createElement("canvas"), ctx = out.getContext("2d"), ratio = devicePixelRatio || 1;
  if (!ctx || !graphs.length) return;
  const tall = (g: HTMLCanvasElement) => Math.min(g.height, ratio * (parseFloat(g.parentElement!.style.getPropertyValue("--tall")) || Infinity)); // what is below has no frames
  const font = `${12 * ratio}px system-ui, "DejaVu Sans", sans-serif`, margin = 8 * ratio, width = Math.max(...graphs.map((g) => g.width));
  ctx.font = font;
  const lines: string[] = [];
  for (const t of texts.filter(Boolean)) t.split(" ").forEach((word, i) => {
    const longer = lines.at(-1) + " " + word;
    if (i && ctx.measureText(longer).width <= width) lines[lines.length - 1] = longer;
    else lines.push(word);
  });
  out.width = width + 2 * margin;
  out.height = 2 * margin + lines.length * captionHeight * ratio + graphs.reduce((n, g) => n + tall(g) + margin, margin);
  ctx.fillStyle = css("--surface");
  ctx.fillRect(0, 0, out.width, out.height);
  ctx.fillStyle = css("--ink");
  ctx.font = font; // another size of the canvas forgets it
  lines.forEach((l, i) => ctx.fillText(l, margin, margin + (i + 0.8) * captionHeight * ratio));
  let y = 2 * margin + lines.length * captionHeight * ratio;
  for (const g of graphs) { ctx.drawImage(g, 0, 0, g.width, tall(g), margin, y, g.width, tall(g)); y += tall(g) + margin; }
  out.toBlob((blob) => { if (blob) details.set("the picture is saved"), saveAs(blob, ["granary", ...`${texts.at(-1)}`.match(/\w+/g)!].join("-").slice(0, 120) + ".png"); });
}
