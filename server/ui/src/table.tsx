// The table of functions. It is of all stacks, whatever the tree leaves out.

import { useEffect, useRef, useState } from "preact/hooks";
import { useAnswer, type Answer } from "./answer";
import type { Top } from "./api";
import { afterFrame } from "./canvas";
import { change, percent, signed, split, text, value } from "./format";
import { pointed } from "./framebox";
import { exactly, only } from "./frames";
import { Panel } from "./message";
import type { Noise } from "./noise";
import { lit, question, type Page } from "./page";
import { useOpen } from "./panels";
import { Buttons } from "./tools";
import { isDifference } from "./url";

// useTop asks for the functions of a state, a page of them at a time. It waits for another answer, and until its picture is seen: the
// server would take the processors of either.
export function useTop(page: Page, rows: number, first: Answer<unknown>): Answer<Top> {
  const { state } = page, params = { ...question(state), granularity: state.gran, s: only(state.s) === null ? state.s : "", sort: state.sort, change: isDifference(state) ? state.ch : "", rows };
  const key = state.t ? JSON.stringify([page.loadKey, params]) : null, asked = useRef<string | null>(null);
  if (first.isDone) asked.current = key;
  const waits = asked.current !== key; // what is asked already stays so, whatever the other one asks meanwhile
  const top = useAnswer(waits ? null : key, (signal) => afterFrame().then(() => page.load.ask<Top>("top", params, signal)));
  return { ...top, isOld: top.isOld || waits && first.isOld };
}

const pageRows = 200;

// useRows is how many rows a table has: more on demand.
export function useRows(): [number, () => void] {
  const [rows, set] = useState(pageRows);
  return [rows, () => set(rows + 5 * pageRows)];
}

export function Functions({ page, of, more, noise }: { page: Page; of: Answer<Top>; more: () => void; noise?: Noise }) {
  const { state, go } = page;
  if (!useOpen("table")) return null;
  return (
    <div class="functions">
      {isDifference(state) && <div class="tools"><Buttons label="functions that are" of={[["", "all changes"], ["new", "new"], ["gone", "gone"], ["both", "on both sides"]]} value={state.ch} set={(ch) => go({ ch })} /></div>}
      <Panel of={of}>{(top) => <Table page={page} top={top} more={more} noise={noise} />}</Panel>
    </div>
  );
}

function Table({ page, top, more, noise }: { page: Page; top: Top; more: () => void; noise?: Noise }) {
  const isDiff = top.total.length > 1, left = top.matching - top.functions.length;
  const columns: [string, string][] = isDiff ? [["flat", "flat Δ"], ["cum", "cum Δ"]] : [["flat", "flat"], ["cum", "cum"]];
  const body = useRef<HTMLTableSectionElement>(null);
  useEffect(() => pointed.listen((p) => { // the row of the frame that is pointed at
    const row = p?.place ? top.functions.findIndex((f) => f.name === p.tree.name(p.node)) : -1;
    body.current?.querySelector(".lit")?.classList.remove("lit");
    if (row >= 0) body.current?.rows[row]?.classList.add("lit");
  }), [top]);
  useEffect(() => () => lit.set(""), [top]);
  return (
    <div class="table-scroll" tabIndex={0} role="region" aria-label="functions">
      <table class={"top" + (isDiff ? " changes" : "")}>
        <thead>
          <tr>
            <SortHead page={page} by="name" what="function" />
            {columns.map(([by, what]) => <SortHead page={page} by={by} what={what} key={by} isNumber />)}
          </tr>
        </thead>
        <tbody ref={body}>{top.functions.map((f) => <FunctionRow page={page} f={f} top={top} noise={noise} key={f.name} />)}</tbody>
      </table>
      {!top.functions.length && <p class="none">{page.state.s ? "No function matches the search." : isDiff && page.state.ch ? "No function is of this kind." : "No functions."}</p>}
      {left > 0 && <button type="button" class="more" onClick={more}>{left.toLocaleString("en")} more</button>}
    </div>
  );
}

function SortHead({ page: { state, go }, by, what, isNumber = false }: { page: Page; by: string; what: string; isNumber?: boolean }) {
  const isOn = state.sort === by;
  return (
    <th scope="col" class={isNumber ? "n" : ""} aria-sort={isOn ? (by === "name" ? "ascending" : "descending") : undefined}>
      <button type="button" class="sort" title={isNumber && isDifference(state) ? "the change, and in percent of the function's own value before" : undefined} onClick={() => go({ sort: by })}>{what}{isOn && <span aria-hidden="true">{by === "name" ? " ▴" : " ▾"}</span>}</button>
    </th>
  );
}

function FunctionRow({ page: { state, go, unit }, f, top, noise }: { page: Page; f: Top["functions"][number]; top: Top; noise?: Noise }) {
  const within = noise?.(f.name);
  const [folder, rest] = split(f.name), one = exactly(f.name), isOfOne = state.v === "source" || state.v === "sandwich", isOn = isOfOne ? state.fn === f.name : state.s === one;
  return (
    <tr class={isOn ? "chosen" : ""} onPointerEnter={() => lit.set(f.name)} onPointerLeave={() => lit.set("")}>
      <td>
        <span class="name" title={text(f.name) + (f.file && "\n" + text(f.file))}>
          <button type="button" class="link" aria-pressed={isOn} onFocus={() => lit.set(f.name)} onBlur={() => lit.set("")} onClick={() => go(isOfOne ? { fn: f.name } : { s: isOn ? "" : one })}><span class="folder">{text(folder, 200)}</span><span class="rest"><bdi>{text(rest, 200)}</bdi></span></button>
          <button type="button" class="quiet to-sandwich" aria-label={"callers and callees of " + text(f.name, 100)} title="callers and callees" onClick={() => go({ v: "sandwich", fn: f.name })}>⇅</button>
          <button type="button" class="quiet to-source" aria-label={"lines of " + text(f.name, 100)} title="lines of source" onClick={() => go({ v: "source", fn: f.name })}>≡</button>
        </span>
      </td>
      <Cell of={f.flat} top={top} unit={unit} isNoise={within?.flat} /><Cell of={f.cum} top={top} unit={unit} isNoise={within?.cum} />
    </tr>
  );
}

function Cell({ of, top, unit, isNoise = false }: { of: number[]; top: Top; unit: string; isNoise?: boolean }) {
  if (of.length > 1) {
    const d = of[1]! - of[0]!;
    return <td class={"n " + (isNoise ? "noise" : d > 0 ? "grew" : d < 0 ? "shrank" : "")} title={`${value(of[0]!, unit)} → ${value(of[1]!, unit)}${isNoise ? ", within noise" : ""}`}>{signed(d, unit)} <small>{change(of[0]!, of[1]!)}</small></td>;
  }
  return <td class="n">{value(of[0]!, unit)} <small>{percent(of[0]!, top.total[0]!)}</small></td>;
}
