// Why something is not shown.

import type { ComponentChildren } from "preact";
import type { Answer } from "./answer";
import { setToken } from "./request";
import { text } from "./format";

// Message is a sentence, and what can be done.
export function Message({ children, kind = "" }: { children: ComponentChildren; kind?: string }) {
  return <div class={"message " + kind} role={kind === "error" ? "alert" : "status"}>{children}</div>;
}

// Failed shows the error of an answer, with what helps, and nothing without one.
export function Failed({ of }: { of: Answer<unknown> }) {
  if (!of.error) return null;
  const wantsToken = of.error.status === 401 || of.error.status === 403;
  return (
    <Message kind="error">
      <p>{text(of.error.message, 1000)}</p>
      {wantsToken ? <label>token <input type="password" autocomplete="off" onChange={(e) => { setToken(e.currentTarget.value.trim()); of.retry(); }} /></label> : <button type="button" onClick={of.retry}>try again</button>}
    </Message>
  );
}

// Panel is a place for an answer: loading, an error, or what it shows.
export function Panel<T>({ of, children }: { of: Answer<T>; children: (data: T) => ComponentChildren }) {
  if (of.error && (of.error.status || of.data === undefined)) return <Failed of={of} />;
  if (of.data === undefined) return <div class="panel waiting" aria-busy="true"><span class="sr">loading</span></div>;
  return <>{of.error && <Failed of={of} />}<div class={"panel" + (of.isOld || of.error ? " old" : "")} aria-busy={of.isOld}>{children(of.data)}</div></>; // a server that is gone takes nothing away
}
