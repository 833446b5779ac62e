// What a choice by state leaves out, and what it is not exact about.

import type { Lengths, Typed } from "./api";
import { clock, percent, span, text, value } from "./format";
import { Message } from "./message";
import type { Page } from "./page";
import { nothing } from "./url";
import { Woken } from "./woken";

// Note says when the states of samples are not exact.
export function Note({ of }: { of: Lengths }) {
  if (!of.coarse) return null;
  return <p class="coarse">Profiles are up to {value(of.profile, "nanoseconds")} long, and a state lasts {value(of.state, "nanoseconds")} on average: the state at the time of a profile is one of several.</p>;
}

// Choice says what the chosen samples are a part of.
export function Choice({ page, of }: { page: Page; of: Typed }) {
  const { state, go } = page;
  const last = of.total.length - 1, all = of.states?.all[last], without = of.states?.without[last] ?? 0;
  if (all === undefined && !state.at) return null;
  return (
    <div class="choice-note">
      {all !== undefined && <span>{percent(of.total[last]!, all)} of {value(all, of.unit)}{state.at && " of " + text(state.at, 60)}. {without ? `${value(without, of.unit)} have no state.` : "All have a state."}</span>}
      {state.at && state.st && <button type="button" onClick={() => go({ v: "states", mw: "1" })}>what ran meanwhile</button>}
      <Woken page={page} />
      {of.states && <Note of={of.states.lengths} />}
    </div>
  );
}

// NoSample is for a span in which an attribute has no samples, as one that waits.
export function NoSample({ page }: { page: Page }) {
  const { state, go } = page;
  return (
    <Message>
      <p>{state.at ? <><b>{text(state.at, 80)}</b> has no sample in this range</> : "No sample in this range is"}{state.st && <> in the state <b>{text(state.st, 80)}</b></>}{state.ns && ` without a state: ${state.ns}`}.</p>
      <p><Woken page={page} /></p>
      <p>
        {state.at && state.st && <button type="button" onClick={() => go({ v: "states", mw: "1" })}>what ran meanwhile</button>}
        <button type="button" onClick={() => go(nothing)}>samples of all states</button>
      </p>
    </Message>
  );
}

// Where leads to the time that the history has states of.
export function Where({ page: { go, history: of } }: { page: Page }) {
  if (!of?.first || !of.end) return null;
  const from = Date.parse(of.first), to = Date.parse(of.end);
  return <span>The states of <b>{text(of.name, 60)}</b> are from {clock(from)} to {clock(to)}. <button type="button" onClick={() => go({ from: of.first, to: of.end })}>show its {span(to - from)}</button></span>;
}
