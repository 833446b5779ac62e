// Whether there are states to show beside the samples.

import { useAnswer } from "./answer";
import { querier } from "./api";
import { labelRange, type Page } from "./page";

// useAnyStates reports whether the history has states of the range, and the chosen profiles the label that leads to them.
export function useAnyStates(page: Page): boolean {
  const { state, range } = page, of = state.v === "services" ? undefined : page.history, label = /\{([^{}]+)\}/.exec(state.p)?.[1];
  const isIn = of !== undefined && !(Date.parse(of.end ?? "") < range.from) && !(Date.parse(of.first ?? "") > range.to);
  const isAsked = isIn && label !== undefined && state.q !== "" && range.newest > 0;
  const names = useAnswer(isAsked ? `${page.loadKey} ${label}` : null, async (signal) => {
    await page.load.afterFirst(signal);
    return (await querier<{ names?: string[] }>("LabelNames", { ...labelRange(page), matchers: [state.q] }, signal)).names ?? [];
  });
  if (state.st || state.ns || state.at) return isIn; // what is chosen stays in sight
  return isIn && (!isAsked || names.error !== undefined || (names.data?.includes(label) ?? false));
}
