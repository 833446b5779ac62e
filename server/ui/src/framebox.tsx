// The box beside the pointer: the values of the frame that is pointed at. It can be docked below the page.

import { useLayoutEffect, useRef } from "preact/hooks";
import type { Group } from "./api";
import { change, percent, text, value } from "./format";
import { Signal, kept } from "./signal";
import { groupFill, groupName } from "./states";
import { otherText, type Tree } from "./tree";

// Pointed is a frame, and the place of what is seen of it, in pixels of the window. x is where the box is to be.
export interface Pointed { tree: Tree; node: number; unit: string; zoomed: number; shares?: Group[]; place: { top: number; bottom: number; x: number } | null }

// pointed is the frame that the pointer or the keys are at. One without a place is only shown by a docked box.
export const pointed = new Signal<Pointed | null>(null);

export const docked = kept("dock");

const mostName = 3000, gap = 8;

export function FrameBox() {
  const at = pointed.use(), isDocked = docked.use() === "1", box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const el = box.current, place = at?.place;
    if (!el || isDocked || !place) return;
    el.style.maxHeight = "";
    const above = place.top - gap, below = innerHeight - place.bottom - gap, height = el.offsetHeight, isBelow = height <= below - 4 || below >= above;
    el.style.left = Math.max(4, Math.min(place.x + 14, innerWidth - el.offsetWidth - 4)) + "px";
    el.style.top = Math.max(4, isBelow ? place.bottom + gap : above - height) + "px";
    el.style.maxHeight = (isBelow ? below : above) - 4 + "px";
  }, [at, isDocked]);
  if (!at || !isDocked && !at.place) return isDocked ? <div class="frame-box docked" aria-hidden="true" /> : null;
  return <div class={"frame-box" + (isDocked ? " docked" : "")} aria-hidden="true" ref={box} key={String(isDocked)}><Values of={at} /></div>;
}

function Values({ of: { tree, node, unit, zoomed, shares = [] } }: { of: Pointed }) {
  const file = tree.file(node), binary = tree.binary(node);
  return (
    <>
      <p class="box-name">{tree.isOther(node) ? otherText : text(tree.name(node), mostName)}</p>
      {(file || binary) && <p class="box-place">{text(file || binary, 500)}</p>}
      {tree.sides > 1 ? <Changes tree={tree} node={node} unit={unit} zoomed={zoomed} /> : <Costs tree={tree} node={node} unit={unit} zoomed={zoomed} />}
      {shares.length > 0 && <Shares of={shares} tree={tree} node={node} />}
    </>
  );
}

type Of = Pick<Pointed, "tree" | "node" | "unit" | "zoomed">;

// wholes are what the value of a frame is a part of.
function wholes({ tree, node, zoomed }: Of): [string, number][] {
  const parent = tree.parent[node]!, out: [string, number][] = [["of all", 0]];
  if (parent > 0) out.push(["of its parent", parent]);
  if (zoomed > 0 && zoomed !== parent) out.push(["of the view", zoomed]);
  return out;
}

function Costs(of: Of) {
  const { tree, node, unit } = of, all = wholes(of), total = tree.total[0]!, rows: [string, number][] = [["self", tree.self(node, 0)], ["total", total[node]!]];
  return (
    <table>
      <thead><tr><td /><td />{all.map(([what]) => <th scope="col" class="n" key={what}>{what}</th>)}</tr></thead>
      <tbody>{rows.map(([what, v]) => <tr key={what}><th scope="row">{what}</th><td class="n"><b>{value(v, unit)}</b></td>{all.map(([w, n]) => <td class="n" key={w}>{percent(v, total[n]!)}</td>)}</tr>)}</tbody>
    </table>
  );
}

function Changes(of: Of) {
  const { tree, node, unit } = of, [a, b] = tree.total as [Float64Array, Float64Array];
  const row = (what: string, before: string, after: string, of: string) => <tr key={what}><th scope="row">{what}</th><td class="n">{before}</td><td class="n"><b>{after}</b></td><td class="n">{of}</td></tr>;
  const cost = (what: string, before: number, after: number) => row(what, value(before, unit), value(after, unit), change(before, after));
  return (
    <table>
      <thead><tr><td />{["before", "after", "change"].map((what) => <th scope="col" class="n" key={what}>{what}</th>)}</tr></thead>
      <tbody>
        {cost("self", tree.self(node, 0), tree.self(node, 1))}{cost("total", a[node]!, b[node]!)}
        {wholes(of).map(([what, n]) => row(what, percent(a[node]!, a[n]!), percent(b[node]!, b[n]!), ""))}
      </tbody>
    </table>
  );
}

// Shares are the samples of a frame by state.
function Shares({ of, tree, node }: { of: Group[]; tree: Tree; node: number }) {
  const all = of.map((g, i) => ({ g, v: Math.abs(tree.groups[i]![node]!) })).filter(({ v }) => v).sort((p, q) => q.v - p.v), sum = all.reduce((n, { v }) => n + v, 0);
  return <p class="box-states">{all.map(({ g, v }) => <span key={groupName(g)}><i class={"fill fill" + groupFill(g)} />{groupName(g)} {percent(v, sum)}</span>)}</p>;
}
