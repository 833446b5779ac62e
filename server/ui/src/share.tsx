// The same thing elsewhere: a link, a command, and files for other programs.

import { useRef, useState } from "preact/hooks";
import { useAnswer } from "./answer";
import { saveWithToken, type Head } from "./api";
import { sampleType } from "./chart";
import { clock, text } from "./format";
import { saveGraph } from "./graph";
import { useOutside, walkMenu } from "./events";
import { copy, fixed, question, type Page } from "./page";
import { link, type Params } from "./request";
import { end, print, resolve, stamp, type State } from "./url";

// pprof returns the address of the merged profile of a selection.
function pprof(s: State): string {
  return new URL(link("pprof", { type: s.t, selector: s.q, from: s.from, to: s.to }), location.href).href;
}

// drawn are the views whose graph can be saved as a picture.
const drawn = ["flame", "sandwich", "difference"];

// files returns what each file is called, and where it is, for the view that is seen.
function files({ state: s, range }: Page): [string, string][] {
  const asked: Params = { ...question(s), s: s.s }, stacks = { ...asked, inv: s.v === "sandwich" ? "" : s.inv }, table = { ...asked, sort: s.sort, change: s.v === "difference" ? s.ch : "" };
  const all = s.st || s.ns || s.at ? ", of all states" : ""; // pprof has no place for states
  const kind = (as: string, more: Params) => link("api/v1/export", { as, ...more });
  const out: [string, string][] = [["pprof" + all, pprof(s)]];
  const chosen: Params = { t: s.t, q: s.q, from: s.from, to: s.to };
  if (s.v === "services") return [...out, ["the rows as JSON", link("api/v1/services", { ...chosen, sum: s.sum, label: s.l, match: s.m })]];
  if (s.v === "profiles") return [...out, ["the profiles as JSON", link("api/v1/profiles", chosen)]];
  if (s.v === "timeline") return [...out, ["the samples as JSON", link("api/v1/timeline", { ...chosen, focus: s.focus, ignore: s.ignore, hide: s.hide })]];
  if (s.v === "states") return [...out, ["the states as JSON", link("api/v1/states", { ...chosen, h: s.h, p: s.p })]];
  if (s.v === "waits") return [...out, ["the waits as JSON", link(`api/v1/histories/${encodeURIComponent(s.h)}/stats`, { p: s.p, by: "state", from: stamp(range.from), to: stamp(range.to + 1) })]];
  if (s.v === "store") return [["the store as JSON", "api/v1/store"]];
  if (s.v === "source") {
    if (s.fn) out.push(["the lines as JSON", link("api/v1/lines", { ...asked, function: s.fn, texts: 1 })]);
  } else if (s.v === "sandwich") {
    if (s.fn) for (const side of ["callers", "callees"]) out.push([side + " as SVG", kind(side, { ...stacks, function: s.fn })]);
    out.push(["the graph as JSON", link("api/v1/flame", { ...stacks, function: s.fn })]);
  } else out.push(["the graph as SVG", kind("svg", stacks)], ["folded stacks", kind("folded", asked)], ["speedscope", kind("speedscope", asked)], ["the graph as JSON", link("api/v1/flame", stacks)]);
  return [...out, ["the table as CSV", kind("csv", table)], ["the table as JSON", link("api/v1/top", { ...table, rows: 1000 })]];
}

// captions say what a picture is of.
function captions({ state: s, range }: Page): string[] {
  const at = (q: string, from: number, to: number) => `${q || "all"} from ${clock(from, 0)} to ${clock(to, 0)}`, says = document.querySelector(".says")?.textContent ?? "";
  const after = `${s.fn && s.v === "sandwich" ? text(s.fn, 200) + ", " : ""}${sampleType(s.t)} of ${at(s.q, range.from, range.to)}`;
  return [says, s.v === "difference" ? `${after}, before: ${at(s.bq || s.q, resolve(s.bfrom || s.from, range), resolve(s.bto || end(s), range))}` : after];
}

export function Share({ page }: { page: Page }) {
  const [isOpen, set] = useState(false);
  const place = useRef<HTMLSpanElement>(null);
  useOutside(isOpen, place, () => set(false));
  const params = { ...question(page.state), granularity: page.state.gran, sort: page.state.sort, function: page.state.v === "sandwich" ? page.state.fn : "" };
  const line = useAnswer(isOpen ? JSON.stringify([page.loadKey, params]) : null, (signal) => page.load.ask<Head & { command: string }>("command", params, signal));
  const command = line.isOld ? undefined : line.data?.command;
  const item = (what: string, run: () => void) => <button type="button" role="menuitem" onClick={() => { set(false); run(); }}>{what}</button>;
  return (
    <span class="menu-place" ref={place} onKeyDown={(e) => isOpen && walkMenu(e, place.current!, () => set(false))}>
      <button type="button" aria-haspopup="menu" aria-expanded={isOpen} onClick={() => set(!isOpen)}>share</button>
      {isOpen && (
        <div class="menu" role="menu" aria-label="share">
          {item("copy a link with fixed times", () => void copy("the link", location.origin + location.pathname + print(fixed(page.state, page.range))))}
          {drawn.includes(page.state.v) && item("save the graph as PNG", () => saveGraph(captions(page)))}
          <button type="button" role="menuitem" disabled={!command} onClick={() => { set(false); void copy("the command", command!); }}>
            {command === "" || line.error ? "no command asks this question" : "copy the same question as a command"}
          </button>
          {files(page).map(([what, path]) => (
            <a role="menuitem" key={what} href={path} download={what.endsWith("JSON") ? "granary.json" : ""} onClick={(e) => { set(false); if (saveWithToken(path)) e.preventDefault(); }}>save {what}</a>
          ))}
        </div>
      )}
    </span>
  );
}
