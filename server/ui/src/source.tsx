// The lines of one function, with their cost, and the text of its source where the server has it.

import { useEffect, useState } from "preact/hooks";
import { useAnswer, type Answer } from "./answer";
import type { Lines, SourceLine } from "./api";
import { change, percent, signed, text, value } from "./format";
import { Message, Panel } from "./message";
import { question, readBy, type Page } from "./page";
import { Functions, useRows, useTop } from "./table";
import { isDifference } from "./url";

export function SourceView({ page }: { page: Page }) {
  const { state, go } = page, params = { ...question(state), function: state.fn, texts: 1 };
  const answer = useAnswer(state.t && state.fn ? JSON.stringify([page.loadKey, params]) : null, (signal) => page.load.ask<Lines>("lines", params, signal));
  const [rows, more] = useRows(), top = useTop(page, rows, answer as Answer<unknown>);
  const [typed, set] = useState(state.fn);
  useEffect(() => set(state.fn), [state.fn]);
  useEffect(() => readBy(answer.data ?? top.data), [answer.data, top.data]);
  return (
    <div class="split">
      <section class="right" aria-label="lines of a function">
        <div class="tools">
          <label class="field wide">function <input type="text" value={typed} list="functions" spellcheck={false} onInput={(e) => set(e.currentTarget.value)} onChange={(e) => go({ fn: e.currentTarget.value.trim() })} /></label>
          <datalist id="functions">{top.data?.functions.slice(0, 50).map((f) => <option value={f.name} key={f.name} />)}</datalist>
          {state.fn && <button type="button" onClick={() => go({ v: "sandwich" })}>callers and callees</button>}
          {isDifference(state) && <button type="button" onClick={() => go({ bq: "", bfrom: "", bto: "" })}>without the side before</button>}
        </div>
        {!state.fn ? <Message><p>Choose a function: ≡ in the table, or “lines of source” of a frame.</p></Message> : <Panel of={answer}>{(of) => <Files page={page} of={of} />}</Panel>}
      </section>
      <Functions page={page} of={top} more={more} />
    </div>
  );
}

function Files({ page, of }: { page: Page; of: Lines }) {
  if (!of.lines.length) return <Message><p>No stack has a function named <code>{text(page.state.fn)}</code>.</p></Message>;
  const files = [...new Set(of.lines.map((l) => l.file))], left = of.all - of.lines.length;
  return (
    <div class="table-scroll source" tabIndex={0} role="region" aria-label="lines">
      {files.map((file) => <File page={page} of={of} file={file} key={file} />)}
      {left > 0 && <p class="none">{left.toLocaleString("en")} lines with less are left out.</p>}
    </div>
  );
}

const unknown: SourceLine = { file: "", line: 0, self: [], total: [] };

// File is the table of one file: its text from line to line, or its lines with a cost alone.
function File({ page: { unit }, of, file }: { page: Page; of: Lines; file: string }) {
  const own = of.lines.filter((l) => l.file === file), at = new Map(own.map((l) => [l.line, l]));
  const part = of.texts?.find((t) => t.file === file), isDiff = of.total.length > 1;
  const most = Math.max(1, ...own.map((l) => Math.abs(cost(l.total))));
  const rows: [SourceLine, string | undefined][] = (part?.lines ?? []).map((line, i) => [at.get(part!.first + i) ?? { ...unknown, line: part!.first + i }, line]);
  const shown = new Set(rows.map(([l]) => l.line));
  const rest = own.filter((l) => !shown.has(l.line)).map((l): [SourceLine, undefined] => [l, undefined]);
  return (
    <table class={"lines-of" + (isDiff ? " changes" : "")}>
      <caption>{file ? text(file) : "the file is not known"}{part?.why && <small>{text(part.why, 300)}</small>}</caption>
      <thead><tr><th scope="col" class="n">line</th><th scope="col" class="n">{isDiff ? "self Δ" : "self"}</th><th scope="col" class="n">{isDiff ? "total Δ" : "total"}</th><th scope="col"><span class="sr">share</span></th><th scope="col">source</th></tr></thead>
      <tbody>
        {[...rest, ...rows].sort((a, b) => a[0].line - b[0].line).map(([l, line]) => (
          <tr key={l.line} class={l.total.length ? "hot" : ""}>
            <th scope="row" class="n">{l.line || "?"}</th>
            <Cost of={l.self} all={of.total} unit={unit} /><Cost of={l.total} all={of.total} unit={unit} />
            <td class="share">{cost(l.total) !== 0 && <i class={isDiff ? (cost(l.total) > 0 ? "more-cost" : "less-cost") : ""} ref={(el) => { if (el) el.style.width = Math.abs(cost(l.total)) / most * 100 + "%"; }} />}</td>
            <td class="code">{line === undefined ? "" : code(line)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

// cost is the value of a line, or its change.
const cost = (of: number[]) => (of.length > 1 ? of[1]! - of[0]! : of[0] ?? 0);

// code keeps the spaces of a line: a tab is four.
const code = (line: string) => text(line.replaceAll("\t", "    "), 500);

function Cost({ of, all, unit }: { of: number[]; all: number[]; unit: string }) {
  const v = cost(of);
  if (!of.length || (of.length === 1 && !v)) return <td class="n" />;
  if (of.length === 1) return <td class="n">{value(v, unit)} <small>{percent(v, all[0]!)}</small></td>;
  return <td class={"n " + (v > 0 ? "grew" : v < 0 ? "shrank" : "")} title={`${value(of[0]!, unit)} → ${value(of[1]!, unit)}`}>{signed(v, unit)} <small>{change(of[0]!, of[1]!)}</small></td>;
}
