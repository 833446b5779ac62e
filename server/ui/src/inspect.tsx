// Why an answer is so: what the question touched of the index, and the same question as a command.

import { useState } from "preact/hooks";
import { useAnswer } from "./answer";
import type { Head } from "./api";
import { count as n, text, value } from "./format";
import { Panel } from "./message";
import { copy, question, type Page } from "./page";

interface Granule { from: string[]; to: string[]; rows: number; bytes: number; parts: { base: boolean; rows: number; bytes: number }[] }
interface Inspected extends Head {
  all: { granules: number; parts: number; rows: number; bytes: number };
  command?: string;
  granules: Granule[];
}

// Why asks when it is opened: what a question touches is only known after it is asked again.
export function Why({ page }: { page: Page }) {
  const [isOpen, open] = useState(false), [rows, setRows] = useState(50);
  const params = { ...question(page.state), rows };
  const answer = useAnswer(isOpen ? JSON.stringify([page.loadKey, params]) : null, (signal) => page.load.ask<Inspected>("inspect", params, signal));
  return (
    <section class="card whole-row" aria-label="why the answer is so">
      <h2>why the answer is so</h2>
      {isOpen ? <Panel of={answer}>{(data) => <Inspection data={data} more={() => setRows(1000)} />}</Panel> : (
        <p><button type="button" onClick={() => open(true)}>ask what the question reads</button></p>
      )}
    </section>
  );
}

function Inspection({ data, more }: { data: Inspected; more: () => void }) {
  const { touched: t, all, granules } = data, line = data.command;
  return (
    <>
      <p>It reads {n(t.rows)} of {n(all.rows)} rows in {n(t.granules)} of {n(all.granules)} granules and {n(t.parts)} of {n(all.parts)} parts, of which {n(t.chosen)} rows are summed. A difference reads both sides.</p>
      {line ? <><pre tabIndex={0}>{text(line, 4000)}</pre><button type="button" onClick={() => void copy("the command", line)}>copy</button></> : <p>No command asks this question.</p>}
      <table class="list granules">
        <thead><tr><th scope="col">granule from</th><th scope="col" class="n">rows</th><th scope="col" class="n">parts</th><th scope="col" class="n">not yet compacted</th><th scope="col" class="n">memory</th></tr></thead>
        <tbody>
          {granules.map((g, i) => (
            <tr key={i}>
              <td>{g.from.map((v) => text(v, 60)).join("  ") || "the start"}</td><td class="n">{n(g.rows)}</td><td class="n">{n(g.parts.length)}</td>
              <td class="n">{n(g.parts.filter((p) => !p.base).length)}</td><td class="n">{value(g.bytes, "bytes")}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {granules.length === 50 && <button type="button" class="more" onClick={more}>more</button>}
    </>
  );
}
