// The side before of a difference: its fields, and presets.

import { useEffect, useState } from "preact/hooks";
import { text } from "./format";
import type { Page } from "./page";
import { TimeField } from "./times";
import { Toggle } from "./tools";
import { useVersions, withLabel } from "./versions";
import { end, hasBefore, shifted, stamp } from "./url";

const hour = 3600e3;

export function SideBefore({ page }: { page: Page }) {
  const { state, go, range } = page, length = range.to - range.from;
  const presets: [string, number][] = [["range before", length], ["an hour before", hour], ["a day before", 24 * hour], ["a week before", 168 * hour]];
  const [typed, set] = useState(state.bq);
  useEffect(() => set(state.bq), [state.bq]);
  const half = stamp(Math.round(range.from + length / 2));
  return (
    <div class="tools before" role="group" aria-label="side before">
      <span class="swatch before" aria-hidden="true" /> before
      <TimeField label="from, before" value={state.bfrom} go={(bfrom) => go({ bfrom })} placeholder="same" />
      <span aria-hidden="true">–</span>
      <TimeField label="to, before" value={state.bto} go={(bto) => go({ bto })} placeholder="same" />
      <input class="selector-before" type="text" aria-label="selector, before" title={typed} placeholder="same selector" spellcheck={false} value={typed} onInput={(e) => set(e.currentTarget.value)} onChange={(e) => go({ bq: e.currentTarget.value.trim() })} />
      {presets.map(([what, by]) => <button type="button" key={what} onClick={() => go({ bfrom: shifted(state.from, by), bto: shifted(end(state), by) })}>{what}</button>)}
      <button type="button" title="the second half of the range against the first" onClick={() => go({ bfrom: stamp(Math.floor(range.from)), bto: half, from: half, to: stamp(Math.ceil(range.to)) })}>halves</button>
      <VersionPreset page={page} />
      {hasBefore(state) && <button type="button" title="swap before and after" onClick={() => go(swapped(state))}>swap</button>}
      <Toggle isOn={state.norm === "1"} set={(on) => go({ norm: on ? "1" : "" })} what="scaled to the same total" />
      {!state.norm && <Toggle isOn={state.rate === "0"} set={(on) => go({ rate: on ? "0" : "" })} what="totals" />}
    </div>
  );
}

// VersionPreset compares the newest version with the one that came before it.
function VersionPreset({ page }: { page: Page }) {
  const { state, go, range } = page, all = useVersions(page, range.from, range.to), after = all.at(-1), before = all.at(-2);
  if (!after || !before) return null;
  return (
    <button type="button" class="version" title={`${text(after.label, 40)} ${text(after.value, 80)} against ${text(before.value, 80)}`}
      onClick={() => go({ z: "", q: withLabel(state.q, after.label, after.value), bq: withLabel(state.q, before.label, before.value), bfrom: "", bto: "" })}>
      version {text(after.value, 16)} against {text(before.value, 16)}
    </button>
  );
}

// swapped exchanges the sides.
function swapped(state: Page["state"]): Partial<Page["state"]> {
  return { from: state.bfrom || state.from, to: state.bto || end(state), bfrom: state.from, bto: end(state), ...(state.bq && { q: state.bq, bq: state.q || "{}" }) };
}
