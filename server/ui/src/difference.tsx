// The view of what changed between two ranges or selectors.

import { useEffect } from "preact/hooks";
import { useAnswer } from "./answer";
import { Around } from "./around";
import type { Flame } from "./api";
import { Empty } from "./empty";
import { change, value } from "./format";
import { Graph } from "./graph";
import { Message, Panel } from "./message";
import { question, readBy, reading, type Page } from "./page";
import { Lengths, Says, useSpread } from "./noise";
import { SideBefore } from "./sidebefore";
import { Functions, useRows, useTop } from "./table";
import { Left } from "./flameview";
import { Buttons, Search } from "./tools";
import type { Side } from "./tree";
import { hasBefore } from "./url";
import { GraphTools } from "./viewmenu";

export function Difference({ page }: { page: Page }) {
  const { state, go } = page, params = { ...question(state), ...reading(state), inv: state.inv, max_nodes: state.n };
  const flame = useAnswer(state.t && hasBefore(state) ? JSON.stringify([page.loadKey, params]) : null, (signal) => page.load.ask<Flame>("flame", params, signal));
  const [rows, more] = useRows();
  const top = useTop(page, rows, flame);
  const { of: spread, noise } = useSpread(page, flame, top);
  useEffect(() => readBy(flame.data), [flame.data]);
  return (
    <>
      <SideBefore page={page} />
      {!hasBefore(state) ? <Message><p>Choose what to compare with: a time before, another selector, or a drag with Shift over the chart.</p></Message> : (
        <Panel of={flame}>
          {(data) => !data.tree || data.tree.depth.length < 2 ? <Empty.Nothing page={page} /> : (
            <div class="split">
              <section class="right" aria-label="difference">
                <Says page={page} of={data} spread={spread} />
                <div class="tools">
                  <span class="total"><b>{value(data.total[0]!, data.unit)}</b> → <b>{value(data.total[1]!, data.unit)}</b> {change(data.total[0]!, data.total[1]!)}</span>
                  <Buttons label="side" of={[["", "both"], ["before", "before"], ["after", "after"]]} value={state.side} set={(side) => go({ side })} />
                  <GraphTools page={page} hasColour={false} />
                  <span class="grow" />
                  <Search page={page} of={top.data} />
                </div>
                <Graph page={page} of={data.tree} label="difference" side={state.side as Side} hasZoom noise={noise} />
                <Key hasNoise={noise !== undefined} /><Lengths of={data} /><Left page={page} of={data} />
                <Around page={page} />
              </section>
              <Functions page={page} of={top} more={more} noise={noise} />
            </div>
          )}
        </Panel>
      )}
    </>
  );
}

// Key says what the colours of changes mean.
function Key({ hasNoise }: { hasNoise: boolean }) {
  return (
    <p class="left-out change-key"><span>less</span>{[0, 1, 2, 3, 4, 5, 6].map((i) => <i class={"c" + i} key={i} aria-hidden="true" />)}<span>more</span> <span>A frame is as wide as the larger side.{hasNoise && " Changes within noise are grey."}</span></p>
  );
}
