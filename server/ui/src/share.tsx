// The same thing elsewhere: a link, a pprof file, a command.

import { useEffect, useRef, useState } from "preact/hooks";
import { useAnswer } from "./answer";
import { link, type Head } from "./api";
import { saveGraph } from "./graph";
import { copy, fixed, question, type Page } from "./page";
import { print, type State } from "./url";

// pprof returns the address of the merged profile of a selection.
function pprof(s: State): string {
  return new URL(link("pprof", { type: s.t, selector: s.q, from: s.from, to: s.to }), location.href).href;
}

export function Share({ page }: { page: Page }) {
  const [isOpen, set] = useState(false);
  const place = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    if (!isOpen) return;
    const outside = (e: Event) => { if (!place.current?.contains(e.target as Node)) set(false); };
    addEventListener("pointerdown", outside);
    return () => removeEventListener("pointerdown", outside);
  }, [isOpen]);
  const params = { ...question(page.state), granularity: page.state.gran, sort: page.state.sort, function: page.state.v === "sandwich" ? page.state.fn : "" };
  const line = useAnswer(isOpen ? JSON.stringify([page.loadKey, params]) : null, (signal) => page.load.ask<Head & { command: string }>("command", params, signal));
  const command = line.isOld ? undefined : line.data?.command;
  const all = page.state.st || page.state.ns || page.state.at ? ", of all states" : ""; // pprof has no place for states
  const item = (what: string, run: () => void) => <button type="button" role="menuitem" onClick={() => { set(false); run(); }}>{what}</button>;
  return (
    <span class="menu-place" ref={place} onKeyDown={(e) => { if (e.key === "Escape") set(false); }}>
      <button type="button" aria-haspopup="menu" aria-expanded={isOpen} onClick={() => set(!isOpen)}>share</button>
      {isOpen && (
        <div class="menu" role="menu" aria-label="share">
          {item("copy a link with fixed times", () => void copy("the link", location.origin + location.pathname + print(fixed(page.state, page.range))))}
          <button type="button" role="menuitem" disabled={!command} onClick={() => { set(false); void copy("the command", command!); }}>
            {command === "" || line.error ? "no command asks this question" : "copy the same question as a command"}
          </button>
          <a role="menuitem" href={pprof(page.state)} download="profile.pb.gz" onClick={() => set(false)}>save as pprof{all}</a>
          {item("save the graph as a picture", saveGraph)}
        </div>
      )}
    </span>
  );
}
