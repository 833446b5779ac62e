// The view of what changed between two ranges or selectors.

import { useEffect, useState } from "preact/hooks";
import { useAnswer } from "./answer";
import type { Flame } from "./api";
import { Empty } from "./empty";
import { change, value } from "./format";
import { Graph } from "./graph";
import { TimeField } from "./header";
import { Message, Panel } from "./message";
import { question, readBy, reading, type Page } from "./page";
import { Functions, useRows, useTop } from "./table";
import { Left } from "./flameview";
import { Buttons, Search, Toggle } from "./tools";
import type { Side } from "./tree";
import { end, shifted } from "./url";
import { GraphTools } from "./viewmenu";

const isAsked = ({ state }: Page) => Boolean(state.bq || state.bfrom || state.bto);

export function Difference({ page }: { page: Page }) {
  const { state, go } = page, params = { ...question(state), ...reading(state), inv: state.inv, max_nodes: state.n };
  const flame = useAnswer(state.t && isAsked(page) ? JSON.stringify([page.loadKey, params]) : null, (signal) => page.load.ask<Flame>("flame", params, signal));
  const [rows, more] = useRows();
  const top = useTop(page, rows, flame);
  useEffect(() => readBy(flame.data), [flame.data]);
  return (
    <>
      <Before page={page} />
      {!isAsked(page) ? <Message><p>Choose what to compare with: a time before, another selector, or a drag with Shift over the chart.</p></Message> : (
        <Panel of={flame}>
          {(data) => !data.tree || data.tree.depth.length < 2 ? <Empty.Nothing page={page} /> : (
            <div class="split">
              <section class="right" aria-label="difference">
                <div class="tools">
                  <span class="total"><b>{value(data.total[0]!, data.unit)}</b> → <b>{value(data.total[1]!, data.unit)}</b> {change(data.total[0]!, data.total[1]!)}</span>
                  <Buttons label="side" of={[["", "both"], ["before", "before"], ["after", "after"]]} value={state.side} set={(side) => go({ side })} />
                  <GraphTools page={page} hasColour={false} />
                  <span class="grow" />
                  <Search page={page} of={top.data} />
                </div>
                <Graph page={page} of={data.tree} label="difference" side={state.side as Side} hasZoom />
                <Key /><Left page={page} of={data} />
              </section>
              <Functions page={page} of={top} more={more} />
            </div>
          )}
        </Panel>
      )}
    </>
  );
}

const hour = 3600e3;

// Before are the fields of the side before, with presets.
function Before({ page: { state, go, range } }: { page: Page }) {
  const length = range.to - range.from;
  const presets: [string, number][] = [["range before", length], ["an hour before", hour], ["a day before", 24 * hour], ["a week before", 168 * hour]];
  const [typed, set] = useState(state.bq);
  useEffect(() => set(state.bq), [state.bq]);
  return (
    <div class="tools before" role="group" aria-label="side before">
      <span class="swatch before" aria-hidden="true" /> before
      <TimeField label="from, before" value={state.bfrom} go={(bfrom) => go({ bfrom })} placeholder="same" />
      <span aria-hidden="true">–</span>
      <TimeField label="to, before" value={state.bto} go={(bto) => go({ bto })} placeholder="same" />
      <input class="selector-before" type="text" aria-label="selector, before" placeholder="same selector" spellcheck={false} value={typed} onInput={(e) => set(e.currentTarget.value)} onChange={(e) => go({ bq: e.currentTarget.value.trim() })} />
      {presets.map(([what, by]) => <button type="button" key={what} onClick={() => go({ bfrom: shifted(state.from, by), bto: shifted(end(state), by) })}>{what}</button>)}
      <Toggle isOn={state.norm === "1"} set={(on) => go({ norm: on ? "1" : "" })} what="scaled to the same total" />
    </div>
  );
}

// Key says what the colours of changes mean.
function Key() {
  return (
    <p class="left-out change-key"><span>less</span>{[0, 1, 2, 3, 4, 5, 6].map((i) => <i class={"c" + i} key={i} aria-hidden="true" />)}<span>more</span> <span>A frame is as wide as the larger side.</span></p>
  );
}
