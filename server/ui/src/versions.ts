// The versions of what is profiled: values of a label that come and go.

import { useAnswer } from "./answer";
import { querier, type Series } from "./api";
import { labelRange, type Page } from "./page";
import { stepOf } from "./gaps";
import { narrowed } from "./url";

// Version is a value of a label, and when the first and the last profiles with it are.
export interface Version { label: string; value: string; first: number; last: number }

// labels are names that a version has, the first of which is looked at.
const labels = ["version", "service_version", "service.version", "app_version", "service_git_ref", "git_ref", "revision"];

const mostVersions = 200;

// useVersions returns the versions of the selection in a range, the latest at the end. It asks after the first answer.
export function useVersions({ state, load, loadKey, range, ...page }: Page, from: number, to: number): Version[] {
  const key = state.t && range.newest ? JSON.stringify([loadKey, state.t, state.q, from, to]) : null;
  return useAnswer<Version[]>(key, async (signal) => {
    await load.afterFirst(signal);
    const { names = [] } = await querier<{ names?: string[] }>("LabelNames", labelRange({ ...page, state, load, loadKey, range }), signal);
    const label = labels.find((l) => names.includes(l));
    if (!label) return [];
    const { series = [] } = await querier<{ series?: Series[] }>("SelectSeries", {
      profileTypeID: state.t, labelSelector: state.q || "{}", start: String(Math.floor(from)), end: String(Math.ceil(to) + 1), step: stepOf(to - from), groupBy: [label],
    }, signal);
    const all = series.slice(0, mostVersions).flatMap(({ labels: [of] = [], points = [] }): Version[] => {
      const times = points.map((p) => Number(p.timestamp));
      return of && times.length ? [{ label, value: of.value, first: Math.min(...times), last: Math.max(...times) }] : [];
    });
    return all.sort((a, b) => a.first - b.first || a.last - b.last);
  }).data ?? [];
}

// withLabel returns a selector that also chooses a value of a label, whatever it chose of that label before.
export function withLabel(selector: string, label: string, value: string): string {
  const quoted = label.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"), inside = selector.replace(/^\s*\{|\}\s*$/g, "").trim();
  return narrowed(inside.replace(new RegExp(`(^|,)\\s*"?${quoted}"?\\s*(=~|!=|!~|=)\\s*"(?:[^"\\\\]|\\\\.)*"`, "g"), "").replace(/^\s*,\s*/, ""), label, value);
}
