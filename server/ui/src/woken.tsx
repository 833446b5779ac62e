// What ended a wait that is chosen, and so what it waited for.

import { useAnswer } from "./answer";
import type { Head } from "./api";
import { text } from "./format";
import type { Page } from "./page";
import { group, plain, type Interval, type Pixels } from "./states";
import { nothing, stamp } from "./url";

// Woken names the attribute that ended the chosen wait, and leads there. The wait can be longer than the range that is seen. It says
// nothing of a state that is no wait.
export function Woken({ page: { state, range, load, loadKey, go, history: recorded } }: { page: Page }) {
  const path = `histories/${encodeURIComponent(state.h)}/`, isWait = state.h && state.at && group(state.st) === "waiting";
  const answer = useAnswer(isWait ? JSON.stringify([loadKey, state.h, state.at, state.st, range.from, range.to]) : null, async (signal) => {
    const ask = <T,>(what: string, params: object) => load.ask<Head & T>(path + what, { from: state.from, to: state.to || stamp(range.to + 1), ...params }, signal);
    const wait = (await ask<{ intervals: Interval[] }>("range", { attribute: state.at, rows: 1000 })).intervals.find((i) => i.state === state.st);
    if (!wait) return {};
    const span = { from: wait.start, to: wait.end }, nameOf = async (p: string) => (await ask<Pixels>("pixels", { ...span, p: plain(p), pixels: 1, rows: 1 })).rows[0]?.name;
    const waker = (await ask<{ rows: { key: string[] }[] }>("stats", { ...span, p: plain(state.at), by: "waker,state" })).rows.find((r) => r.key[1] === state.st)?.key[0] ?? "null";
    const by = /^\d+$/.test(waker) ? state.at.replace(/[^/]*$/, waker) : "";
    return { wait, waker, by, names: await Promise.all([nameOf(state.at), by && nameOf(by)]) };
  });
  const { wait, waker, by, names: [name, other] = [] } = (isWait && answer.isDone && answer.data) || {};
  if (!wait) return null;
  return (
    <span class="woken">
      <b>{text(state.at, 80)}</b>{name && <> <code>{text(name, 100)}</code></>}, {text(state.st, 80)}. {waker !== "null" ? "Woken by " : wait.open || wait.end === recorded?.end ? (recorded?.closed ? "Nothing woke it: it still waited when the recording ended" : "It still waits") : "The recording does not say what woke it"}{by ? <button type="button" class="link" title="its states then" onClick={() => go({ ...nothing, at: by })}>{text(by, 80)}</button> : waker !== "null" && "a timer, the network or the system"}{other && <> <code>{text(other, 100)}</code></>}.
    </span>
  );
}
