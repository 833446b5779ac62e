// The view of states: the samples by state, and what ran while an attribute was in one.

import { useEffect } from "preact/hooks";
import { useAnswer } from "./answer";
import type { Flame, Group, Head, Lengths, Typed } from "./api";
import { Empty } from "./empty";
import { many, percent, text, value } from "./format";
import { Graph } from "./graph";
import { Message, Panel } from "./message";
import { question, readBy, type Page } from "./page";
import { fillOf } from "./states";
import { Note, Where } from "./stateschoice";

interface Sum extends Group { magnitude: number }
interface Groups extends Head, Typed { lengths: Lengths; groups: Sum[] }

export function StatesTab({ page }: { page: Page }) {
  const { state } = page;
  return state.mw === "1" && state.at && state.st ? <Meanwhile page={page} /> : <Bars page={page} />;
}

// samples are the parameters of samples without a choice by state.
function samples({ state: s }: Page) {
  const { t, q, from, to, focus, ignore, hide } = question({ ...s, v: "states" });
  return { t, q, from, to, focus, ignore, hide, h: s.h, p: s.p };
}

const reasons: Record<string, string> = {
  "no label": "no label that says whose state it is", "no attribute": "labels of no attribute of the history", "no instant": "outside of the time of the history",
};

function Bars({ page }: { page: Page }) {
  const { state, go } = page, params = { ...samples(page), attribute: state.at };
  const answer = useAnswer(state.t && state.p ? JSON.stringify([page.loadKey, params]) : null, (signal) => page.load.ask<Groups>("states", params, signal));
  useEffect(() => readBy(answer.data), [answer.data]);
  return (
    <Panel of={answer}>
      {(data) => !data.groups.length ? <Empty.Nothing page={page} /> : (
        <div class="table-scroll whole" tabIndex={0} role="region" aria-label="samples by state">
          <Note of={data.lengths} />
          {data.groups.every((g) => g.status !== "known") && <Message><p>No sample has a state: {reasons[data.groups[0]!.status]}. The path <code>{text(state.p, 80)}</code> takes it from the label in braces.</p>{data.groups[0]!.status === "no instant" && <p><Where page={page} /></p>}</Message>}
          <table class="list bars">
            <thead><tr><th scope="col">state</th><th scope="col" class="n">{data.sample_type}</th><th scope="col" class="n">share</th><th scope="col" class="wide-column"><span class="sr">bar</span></th>{state.at && <th scope="col">all others</th>}</tr></thead>
            <tbody>{data.groups.toSorted((a, b) => Number(a.status !== "known") - Number(b.status !== "known") || b.magnitude - a.magnitude).map((g) => <Bar page={page} g={g} of={data} key={g.status + g.state} />)}</tbody>
          </table>
          {(state.st || state.ns) && <p class="none"><button type="button" onClick={() => go({ st: "", ns: "" })}>samples of all states</button></p>}
        </div>
      )}
    </Panel>
  );
}

function Bar({ page: { state, go, unit }, g, of }: { page: Page; g: Sum; of: Groups }) {
  const isKnown = g.status === "known", name = isKnown ? g.state! : reasons[g.status] ?? g.status, isOn = isKnown ? state.st === g.state : state.ns === g.status;
  const choose = () => go({ v: "flame", z: "", ...(isOn ? { st: "", ns: "" } : isKnown ? { st: g.state!, ns: "" } : { st: "", ns: g.status }) });
  const share = of.magnitude[0] ? Math.abs(g.total) / of.magnitude[0] : 0;
  return (
    <tr class={isOn ? "chosen" : ""}>
      <td>{isKnown && fillOf(g.state!) >= 0 && <i class={"fill fill" + fillOf(g.state!)} aria-hidden="true" />}<button type="button" class="link" aria-pressed={isOn} title="only these samples" onClick={choose}>{isKnown ? text(name, 120) : <em>without a state: {name}</em>}</button></td>
      <td class="n">{value(g.total, unit)}</td>
      <td class="n">{percent(g.total, of.total[0]!)}</td>
      <td class="wide-column"><span class="bar" aria-hidden="true"><i class={isKnown && fillOf(g.state!) >= 0 ? "fill" + fillOf(g.state!) : ""} ref={(el) => { if (el) el.style.width = 100 * Math.min(1, share) + "%"; }} /></span></td>
      {state.at && <td>{isKnown && <button type="button" class="link" onClick={() => go({ st: g.state!, ns: "", mw: "1" })}>what ran meanwhile</button>}</td>}
    </tr>
  );
}

interface During extends Flame { lengths: Lengths; spans: { all: number; all_time: number; chosen: number; time: number; from?: string; to?: string } }

// Meanwhile is the tree of all others while the attribute was in the state.
function Meanwhile({ page }: { page: Page }) {
  const { state, go, unit } = page, params = { ...samples(page), attribute: state.at, state: state.st };
  const answer = useAnswer(JSON.stringify([page.loadKey, params]), (signal) => page.load.ask<During>("meanwhile", params, signal));
  useEffect(() => readBy(answer.data), [answer.data]);
  return (
    <Panel of={answer}>
      {(data) => (
        <section class="right whole-graph" aria-label="what ran meanwhile">
          <div class="tools">
            <span class="total">All others while <b>{text(state.at, 60)}</b> was <b>{text(state.st, 60)}</b>: {value(data.total[0]!, unit)} {data.sample_type}, in {spans(data.spans)}</span>
            <span class="grow" />
            <button type="button" onClick={() => go({ mw: "" })}>back to the states</button>
          </div>
          <Note of={data.lengths} />
          {data.total[0] ? <Graph page={page} of={data.tree!} label="what ran meanwhile" root="all others" /> : <Message><p>{data.spans.all ? "No other sample is in these spans." : "It was not in this state in this range."}</p></Message>}
        </section>
      )}
    </Panel>
  );
}

function spans({ all, all_time, chosen, time }: During["spans"]): string {
  const whole = `${many(all, "span")} of ${value(all_time, "nanoseconds")}`;
  return chosen < all ? `the ${chosen.toLocaleString("en")} longest of ${whole}, ${value(time, "nanoseconds")}` : whole;
}
