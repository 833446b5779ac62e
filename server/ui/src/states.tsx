// The states of threads and goroutines: a row above the samples, and a view. A page without histories has neither.

import type { Page } from "./page";

// History is one history of the store, as the page names it.
export interface History { name: string }

// useHistories returns the histories of the store.
export function useHistories(_tick: number): History[] {
  return [];
}

// StatesRow is the time graph of a history above the samples.
export function StatesRow(_: { page: Page; histories: History[] }) {
  return null;
}

// StatesTab is the view of states.
export function StatesTab(_: { page: Page }) {
  return null;
}
