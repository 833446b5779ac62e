// The line above a graph: search, order, direction, colour.

import { useEffect, useState } from "preact/hooks";
import { percent } from "./format";
import { only, regular } from "./frames";
import type { Top } from "./api";
import type { Page } from "./page";
import type { Field } from "./url";

// useTyped returns the text of a field and how to change it. The state has it when it rests.
export function useTyped({ state, go }: Page, field: Field): [string, (v: string) => void] {
  const [typed, set] = useState(state[field]);
  useEffect(() => set(state[field]), [state[field]]);
  useEffect(() => {
    if (typed === state[field]) return;
    const timer = setTimeout(() => go({ [field]: typed }, true), 200);
    return () => clearTimeout(timer);
  }, [typed]);
  return [typed, set];
}

export function Search({ page, of }: { page: Page; of?: Top }) {
  const { state } = page, [typed, set] = useTyped(page, "s");
  const isBad = typed !== "" && !regular(typed), last = (of?.total.length ?? 0) - 1, one = only(state.s);
  const found = one === null ? of?.found?.[last] : of?.functions.find((f) => f.name === one)?.cum[last]; // of one function the table has it
  return (
    <span class="field search">
      <input id="search" type="search" aria-label="search functions by a pattern" placeholder="search  /" value={typed} spellcheck={false} aria-invalid={isBad}
        onInput={(e) => set(e.currentTarget.value)} onKeyDown={(e) => { if (e.key === "Enter" || e.key === "Escape") document.querySelector<HTMLElement>("[role=tree]")?.focus(); }} />
      <output aria-live="polite">{isBad ? "not a pattern" : state.s && found !== undefined ? (found ? percent(found, of!.total[last]!) : "no hit") : ""}</output>
    </span>
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
