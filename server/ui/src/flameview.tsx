// The view of a flame graph beside the table of functions.

import { useEffect } from "preact/hooks";
import { useAnswer } from "./answer";
import { Around } from "./around";
import type { Flame, Group } from "./api";
import { Empty } from "./empty";
import { value } from "./format";
import { heats } from "./flame";
import { Graph } from "./graph";
import { Panel } from "./message";
import { mostFrames, readBy, type Page } from "./page";
import { asked } from "./question";
import { groupFill, groupName } from "./states";
import { Choice } from "./stateschoice";
import { Functions, useRows, useTop } from "./table";
import { Search, Toggle } from "./tools";
import { GraphTools } from "./viewmenu";

export function FlameView({ page }: { page: Page }) {
  const { state } = page, params = asked(state);
  const flame = useAnswer(state.t ? JSON.stringify([page.loadKey, params]) : null, (signal) => page.load.ask<Flame>("flame", params, signal));
  const [rows, more] = useRows();
  const top = useTop(page, rows, flame);
  useEffect(() => readBy(flame.data), [flame.data]);
  return (
    <Panel of={flame}>
      {(data) => !data.tree || data.tree.depth.length < 2 ? <Empty.Nothing page={page} /> : !data.magnitude[0] ? <Empty.Zero /> : (
        <div class="split">
          <section class="right" aria-label="flame graph">
            <div class="tools">
              <Total page={page} of={data} />
              <GraphTools page={page} hasGroup={!params.shares} />
              <span class="grow" />
              <Search page={page} of={top.data} />
            </div>
            <Choice page={page} of={data} />
            <Graph page={page} of={data.tree} label={state.inv ? "callers below callees" : "flame graph"} hasZoom shares={data.shares} />
            <Key by={state.c} shares={data.shares} /><Left page={page} of={data} />
            <Around page={page} />
          </section>
          <Functions page={page} of={top} more={more} />
        </div>
      )}
    </Panel>
  );
}

// Key says what the colours of frames stand for, if that is not a name.
function Key({ by, shares }: { by: string; shares?: Group[] }) {
  const percents = heats.map((h) => 100 * h + " %");
  if (shares) return <p class="left-out state-key"><span>samples of all states:</span>{shares.map((g) => <span key={groupName(g)}><i class={"fill fill" + groupFill(g)} aria-hidden="true" />{groupName(g)}</span>)}</p>;
  if (by !== "value") return null;
  return <p class="left-out change-key"><span>own value, of all: less than {percents[0]}</span>{[3, 4, 5, 6].map((c, i) => <><i class={"c" + c} aria-hidden="true" />{i < 3 && <span>{percents[i]}</span>}</>)}<span>and more</span></p>;
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

// Left says what a tree leaves out, and asks for more.
export function Left({ page: { state, go }, of }: { page: Page; of: Flame }) {
  const most = of.tree?.omitted;
  return !most ? null : (
    <p class="left-out">Small frames, of {value(most, of.unit)} and less, are not all sent; each “other” stands for some of them. The table counts all. {Number(state.n) < mostFrames && <button type="button" class="link" onClick={() => go({ n: String(mostFrames) })}>Show more.</button>}
    </p>
  );
}
