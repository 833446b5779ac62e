// The view of a flame graph beside the table of functions.

import { useEffect } from "preact/hooks";
import { useAnswer } from "./answer";
import type { Flame } from "./api";
import { Empty } from "./empty";
import { value } from "./format";
import { Graph } from "./graph";
import { Panel } from "./message";
import { question, readBy, type Page } from "./page";
import { Choice } from "./stateschoice";
import { Functions, useRows, useTop } from "./table";
import { GraphTools, Search, Toggle } from "./tools";

export function FlameView({ page }: { page: Page }) {
  const { state } = page, params = { ...question(state), inv: state.inv, max_nodes: state.n };
  const flame = useAnswer(state.t ? JSON.stringify([page.loadKey, params]) : null, (signal) => page.load.ask<Flame>("flame", params, signal));
  const [rows, more] = useRows();
  const top = useTop(page, rows);
  useEffect(() => readBy(flame.data), [flame.data]);
  return (
    <Panel of={flame}>
      {(data) => !data.tree || data.tree.depth.length < 2 ? <Empty.Nothing page={page} /> : !data.magnitude[0] ? <Empty.Zero /> : (
        <div class="split">
          <section class="right" aria-label="flame graph">
            <div class="tools">
              <Total page={page} of={data} />
              <GraphTools page={page} />
              <span class="grow" />
              <Search page={page} of={top.data} />
            </div>
            <Choice page={page} of={data} />
            <Graph page={page} of={data.tree} label={state.inv ? "callers below callees" : "flame graph"} hasZoom />
            <Left page={page} of={data} />
          </section>
          <Functions page={page} of={top} more={more} />
        </div>
      )}
    </Panel>
  );
}

// Total is the sum of what is seen, or the mean of gauges with a switch.
export function Total({ page: { state, go }, of }: { page: Page; of: Flame }) {
  const last = of.total.length - 1, isGauge = of.mean || state.sum === "1";
  return (
    <span class="total"><b>{value(of.total[last]!, of.unit)}</b> {of.sample_type}{of.mean && ", mean of the profiles"}
      {isGauge && <Toggle isOn={state.sum === "1"} set={(on) => go({ sum: on ? "1" : "" })} what="sum" />}
    </span>
  );
}

const mostFrames = 100_000;

// Left says what a tree leaves out, and asks for more.
export function Left({ page: { state, go }, of }: { page: Page; of: Flame }) {
  const tree = of.tree;
  if (!tree?.others.length) return null;
  const n = (x: number) => x.toLocaleString("en"), count = tree.others.reduce((sum, [, c]) => sum + c, 0);
  return (
    <p class="left-out">{n(count)} of {n(tree.all)} frames are small and not sent; each “other” stands for some of them. The table counts all.{" "}
      {Number(state.n) < mostFrames && <button type="button" class="link" onClick={() => go({ n: String(mostFrames) })}>Show {n(Math.min(tree.all, mostFrames))}.</button>}
    </p>
  );
}
