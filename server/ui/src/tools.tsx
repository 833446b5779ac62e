// The line above a graph: search, order, direction, colour.

import { useEffect, useState } from "preact/hooks";
import { percent } from "./format";
import { regular } from "./frames";
import type { Typed } from "./api";
import type { Page } from "./page";

export function Search({ page: { state, go }, of }: { page: Page; of?: Typed }) {
  const [typed, set] = useState(state.s);
  useEffect(() => set(state.s), [state.s]);
  useEffect(() => {
    if (typed === state.s) return;
    const timer = setTimeout(() => go({ s: typed }, true), 200);
    return () => clearTimeout(timer);
  }, [typed]);
  const isBad = typed !== "" && !regular(typed), last = (of?.found?.length ?? 0) - 1;
  return (
    <span class="field search">
      <input id="search" type="search" aria-label="search functions by a pattern" placeholder="search  /" value={typed} spellcheck={false} aria-invalid={isBad}
        onInput={(e) => set(e.currentTarget.value)} onKeyDown={(e) => { if (e.key === "Enter" || e.key === "Escape") document.querySelector<HTMLElement>("[role=tree]")?.focus(); }} />
      <output aria-live="polite">{isBad ? "not a pattern" : state.s && of?.found ? (of.found[last] ? percent(of.found[last]!, of.total[last]!) : "no hit") : ""}</output>
    </span>
  );
}

export function GraphTools({ page, hasDirection = true, hasColour = true }: { page: Page; hasDirection?: boolean; hasColour?: boolean }) {
  const { state, go } = page;
  return (
    <>
      {hasDirection && <Toggle isOn={state.inv === "1"} set={(on) => go({ inv: on ? "1" : "", z: "" })} what="invert" />}
      <Toggle isOn={state.o === "name"} set={(on) => go({ o: on ? "name" : "" })} what="by name" />
      {hasColour && (
        <label class="field">colour <select value={state.c} onChange={(e) => go({ c: e.currentTarget.value })}>
          <option value="">package</option><option value="file">file</option><option value="binary">binary</option><option value="value">value</option>
          {state.h && <option value="state">state</option>}
        </select></label>
      )}
    </>
  );
}

// Buttons choose one of a few values.
export function Buttons({ label, of, value, set }: { label: string; of: [string, string][]; value: string; set: (v: string) => void }) {
  return (
    <span class="choice" role="group" aria-label={label}>
      {of.map(([v, what]) => <button type="button" class="toggle" key={v} aria-pressed={v === value} onClick={() => set(v)}>{what}</button>)}
    </span>
  );
}

export function Toggle({ isOn, set, what }: { isOn: boolean; set: (on: boolean) => void; what: string }) {
  return <button type="button" class="toggle" aria-pressed={isOn} onClick={() => set(!isOn)}>{what}</button>;
}
