// What ended a wait that is chosen, and so what it waited for.

import { useAnswer } from "./answer";
import type { Head } from "./api";
import { text } from "./format";
import type { Page } from "./page";
import { group, nothing, type Interval, type Pixels } from "./states";
import { stamp } from "./url";

// Woken names the attribute that ended the chosen wait, and leads there. The wait can be longer than the range that is seen. It says
// nothing of a state that is no wait.
export function Woken({ page: { state, range, load, loadKey, go, history: recorded } }: { page: Page }) {
  const path = `histories/${encodeURIComponent(state.h)}/`, isWait = state.h && state.at && group(state.st) === "waiting";
  const answer = useAnswer(isWait ? JSON.stringify([loadKey, state.h, state.at, range.from, range.to]) : null, async (signal) => {
    const found = await load.ask<Head & { intervals: Interval[] }>(path + "range", { attribute: state.at, from: state.from, to: state.to || stamp(range.to + 1), rows: 1000 }, signal);
    const wait = found.intervals.find((i) => i.state === state.st);
    if (!wait) return {};
    const ask = (p: string) => load.ask<Pixels>(path + "pixels", { p, from: wait.start, to: stamp(Date.parse(wait.end) + 2), pixels: 1000, rows: 1, wakes: "1" }, signal);
    const own = await ask(state.at), wake = own.wakes?.[0];
    return { wait, wake, name: own.rows[0]?.name, other: wake?.by ? (await ask(wake.by)).rows[0]?.name : "" };
  });
  const { wait, wake, name, other } = (isWait && answer.isDone && answer.data) || {};
  if (!wait) return null;
  return (
    <span class="woken">
      <b>{text(state.at, 80)}</b>{name && <> <code>{text(name, 100)}</code></>}, {text(state.st, 80)}. {wake ? "Woken by " : wait.open || wait.end === recorded?.end ? "Nothing woke it: it still waited when the recording ended" : "The recording does not say what woke it"}{wake?.by ? <button type="button" class="link" title="its states then" onClick={() => go({ ...nothing, at: wake.by })}>{text(wake.by, 80)}</button> : wake && "a timer, the network or the system"}{other && <> <code>{text(other, 100)}</code></>}.
    </span>
  );
}
