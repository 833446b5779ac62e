// The view of one function: callers above, callees below.

import { useEffect, useState } from "preact/hooks";
import { useAnswer } from "./answer";
import type { Flame } from "./api";
import { percent, text, value } from "./format";
import { Graph } from "./graph";
import { Message, Panel } from "./message";
import { question, readBy, reading, type Page } from "./page";
import { sharing } from "./question";
import { Functions, useRows, useTop } from "./table";
import { Search } from "./tools";
import { Granularity } from "./viewmenu";

export function SandwichView({ page }: { page: Page }) {
  const { state, go } = page, params = { ...question(state), ...reading(state), function: state.fn, ...sharing(state) };
  const flame = useAnswer(state.t && state.fn ? JSON.stringify([page.loadKey, params]) : null, (signal) => page.load.ask<Flame>("flame", params, signal));
  const [rows, more] = useRows();
  const top = useTop(page, rows, flame);
  const [typed, set] = useState(state.fn);
  useEffect(() => set(state.fn), [state.fn]);
  useEffect(() => readBy(flame.data ?? top.data), [flame.data, top.data]);
  return (
    <div class="split">
      <section class="right" aria-label="callers and callees">
        <div class="tools">
          <Granularity page={page} />
          <label class="field wide">{state.gran || "function"} <input type="text" value={typed} list="functions" spellcheck={false} onInput={(e) => set(e.currentTarget.value)} onChange={(e) => go({ fn: e.currentTarget.value.trim() })} /></label>
          <datalist id="functions">{top.data?.functions.slice(0, 50).map((f) => <option value={f.name} key={f.name} />)}</datalist>
          {state.fn && <button type="button" onClick={() => go({ v: "source" })}>lines</button>}
          <Search page={page} of={top.data} />
        </div>
        {!state.fn ? <Message><p>Choose a function: ⇅ in the table, or “callers and callees” of a frame.</p></Message> : (
          <Panel of={flame}>{(data) => <Both page={page} of={data} />}</Panel>
        )}
      </section>
      <Functions page={page} of={top} more={more} />
    </div>
  );
}

function Both({ page, of }: { page: Page; of: Flame }) {
  const callees = of.callees, sum = callees ? callees.self[0]!.reduce((a, b) => a + b, 0) : 0;
  if (!sum) return <Message><p>No stack has a function named <code>{text(page.state.fn)}</code>.</p></Message>;
  return (
    <div class="sandwich">
      <h2>callers <small>{value(sum, of.unit)}, {percent(sum, of.total[0]!)} of all</small></h2>
      <Graph page={page} of={of.callers!} label="callers" root={page.state.fn} shares={of.shares} isUp />
      <h2>callees</h2>
      <Graph page={page} of={callees!} label="callees" root={page.state.fn} shares={of.shares} />
    </div>
  );
}
