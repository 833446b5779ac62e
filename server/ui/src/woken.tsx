// What ended a wait that is chosen, and so what it waited for.

import { useAnswer } from "./answer";
import { text } from "./format";
import type { Page } from "./page";
import { group, nothing, type Pixels } from "./states";
import { stamp } from "./url";

// Woken names the attribute that ended the chosen wait, and leads there. It says nothing of a state that is no wait.
export function Woken({ page: { state, range, load, loadKey, go } }: { page: Page }) {
  const rows = (p: string, to: number) => ({ p, from: state.from, to: stamp(to), pixels: 1000, rows: 1, wakes: "1" });
  const ask = (p: string, signal: AbortSignal) => load.ask<Pixels>(`histories/${encodeURIComponent(state.h)}/pixels`, rows(p, range.to + 2), signal); // the wake is the end of the range
  const isWait = state.h && state.at && group(state.st) === "waiting";
  const answer = useAnswer(isWait ? JSON.stringify([loadKey, state.h, state.at, range.from, range.to]) : null, async (signal) => {
    const own = await ask(state.at, signal), by = own.wakes?.[0]?.by;
    return { own, by, other: by ? (await ask(by, signal)).rows[0] : undefined };
  });
  const { own, by, other } = (isWait && answer.isDone && answer.data) || {};
  if (!own) return null;
  return (
    <span class="woken">
      {own.rows[0]?.name && <>It is <code>{text(own.rows[0].name, 100)}</code>. </>}{!own.wakes?.length ? "The recording does not say what woke it" : "Woken by "}{by ? <button type="button" class="link" title="its states then" onClick={() => go({ ...nothing, at: by })}>{text(by, 80)}</button> : own.wakes?.length ? "a timer, the network or the system" : ""}{other?.name && <> <code>{text(other.name, 100)}</code></>}.
    </span>
  );
}
