// What of a difference is more than noise: a sentence, and which functions are grey. The server finds it from the spread between
// the profiles of each side, which takes longer than the picture.

import { useMemo } from "preact/hooks";
import { useAnswer, type Answer } from "./answer";
import type { Flame, Top, Typed } from "./api";
import { clock, count, many, span, text } from "./format";
import { question, type Page } from "./page";
import { end, hasBefore, resolve } from "./url";

// noiseFrom is the P from which on a change is within noise: Noise of package internal/change.
const noiseFrom = 0.01;
const mostFunctions = 1000;

// Noise says whether a function's changes are within noise. Without one nothing is known of it.
export type Noise = (name: string) => { flat: boolean; cum: boolean } | undefined;

// useSpread asks for the spread of a difference, after its picture and its table.
export function useSpread(page: Page, flame: Answer<Flame>, top: Answer<Top>): { of: Answer<Top>; noise?: Noise } {
  const { state } = page, isWanted = state.t && hasBefore(state) && flame.data && (flame.data.magnitude[0] || flame.data.magnitude[1]) && !state.st && !state.ns && !state.at;
  const params = { ...question(state), sort: "cum", rows: mostFunctions, spread: "1" };
  const of = useAnswer<Top>(isWanted && flame.isDone && top.isDone ? JSON.stringify([page.loadKey, params]) : null, (signal) => page.load.ask<Top>("top", params, signal));
  const data = of.isOld || of.error ? undefined : of.data;
  const noise = useMemo<Noise | undefined>(() => {
    if (!data) return undefined;
    const all = new Map(data.functions.filter((f) => f.p).map((f) => [f.name, f.p!]));
    if (!all.size) return undefined;
    return (name) => { const p = all.get(name); return p && { flat: p[0]! >= noiseFrom, cum: p[1]! >= noiseFrom }; };
  }, [data]);
  return { of, noise };
}

// Says is the sentence, or why there is none.
export function Says({ page, of, spread }: { page: Page; of: Flame; spread: Answer<Top> }) {
  const { state, range } = page, isEmpty = of.profiles ? of.profiles[0] === 0 : of.magnitude[0] === 0;
  if (isEmpty) {
    const from = resolve(state.bfrom || state.from, range), to = resolve(state.bto || end(state), range);
    return <p class="says none-before" role="status">The side before has no profiles{state.bq && <> of <code>{text(state.bq, 80)}</code></>} from {clock(from)} to {clock(to)}: all is new, and nothing can be compared.</p>;
  }
  return <p class="says" role="status">{spread.data && !spread.error ? text(spread.data.says ?? "", 1000) : spread.error ? "" : "…"}</p>;
}

// Lengths says how sides of unequal length are compared.
export function Lengths({ of }: { of: Typed }) {
  if (!of.covered || !of.profiles?.[0] || !of.scaled) return null;
  const [before, after] = of.covered.map((n) => span(n / 1e6)) as [string, string];
  return <p class="left-out">For equally long times: profiles at {many(of.profiles[0]!, "instant")} before stand for {before}, at {count(of.profiles[1]!)} after for {after}. Values before are × {Number(of.scaled.toPrecision(3))}.</p>;
}
