// The parameters of questions about the state of the page.

import type { Params } from "./request";
import { isDifference, type State } from "./url";

// chosen are the parameters of a choice by state or attribute; none without one.
export function chosen(s: State): Params {
  if (!s.st && !s.ns && !s.at) return {};
  return { h: s.h, p: s.p, state: s.st, status: s.st ? "" : s.ns, attribute: s.at };
}

// sharing are the parameters of shares by state in each frame: of a choice by state, or for the colour.
export function sharing(s: State): Params {
  return s.h && s.p && (s.st || s.ns || s.at || s.c === "state") ? { h: s.h, p: s.p, shares: "1" } : {};
}

// frames are the conditions on frames of a question.
export const frames = (s: State): Params => ({ focus: s.focus, ignore: s.ignore, hide: s.hide, sum: s.sum });

// question returns the parameters of a question about the state, of a difference with the side before.
export function question(s: State): Params {
  const out: Params = { t: s.t, q: s.q, from: s.from, to: s.to, ...frames(s), ...chosen(s) };
  if (!isDifference(s)) return out;
  return { ...out, bq: s.bq, bfrom: s.bfrom, bto: s.bto, norm: s.norm, rate: s.norm || s.rate === "0" ? "" : "1" };
}

// reading are the parameters of what the frames of a tree stand for.
export const reading = (s: State): Params => ({ granularity: s.gran, fold: s.fold });

// asked are the parameters of the question for a flame graph. A state has no groups.
export function asked(state: State): Params {
  const shares = sharing(state);
  return { ...question(state), ...reading(state), group: shares.h ? "" : state.group, inv: state.inv, max_nodes: state.n, ...shares };
}
