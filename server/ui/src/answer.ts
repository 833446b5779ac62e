// Answers as the state of a component.

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { Refusal } from "./api";

// Answer is what is known of a question: the last answer, though it can be of the question before.
export interface Answer<T> {
  data?: T;
  error?: Refusal;
  isOld: boolean; // data is of another question, and has been for a moment
  isDone: boolean; // data or error is of this question
  retry: () => void;
}

// useAnswer asks whenever a key changes, and aborts what it asked before. The old answer stays until the new one, and is
// called old after 150 ms. A null key asks nothing. It asks in a layout effect: other effects come after the next frame.
export function useAnswer<T>(key: string | null, ask: (signal: AbortSignal) => Promise<T>): Answer<T> {
  const [{ of, ...state }, set] = useState<{ data?: T; error?: Refusal; isOld: boolean; of?: string }>({ isOld: false });
  const [tries, setTries] = useState(0);
  const latest = useRef(ask);
  latest.current = ask;
  useLayoutEffect(() => {
    if (key === null) return;
    const abort = new AbortController();
    const dim = setTimeout(() => set((s) => ({ ...s, isOld: true })), 150);
    latest.current(abort.signal).then(
      (data) => abort.signal.aborted || set({ data, isOld: false, of: key }),
      (e: unknown) => abort.signal.aborted || set((s) => ({ data: s.data, error: refusal(e), isOld: false, of: key })),
    ).finally(() => clearTimeout(dim));
    return () => { clearTimeout(dim); abort.abort(); };
  }, [key, tries]);
  return { ...state, isDone: key === null || of === key, retry: () => setTries((n) => n + 1) };
}

const refusal = (e: unknown) => (e instanceof Refusal ? e : new Refusal(0, String((e as Error).message ?? e)));
