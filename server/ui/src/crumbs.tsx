// The path to what is seen, with the way back.

import { clock, span, text } from "./format";
import type { Page } from "./page";
import { defaults, fresh, isDifference, parseAgo, type Field } from "./url";

const patterns: [Field, string][] = [["focus", "with"], ["ignore", "without"], ["hide", "hidden"], ["s", "search"]];

export function Crumbs({ page: { state, go, range } }: { page: Page }) {
  const all = { ...fresh, q: "", by: "", from: defaults.from, to: "" }, isNarrowed = Object.entries(all).some(([f, v]) => state[f as Field] !== v);
  const length = span(Math.max(0, range.to - range.from));
  const ago = parseAgo(state.from);
  const when = ago && !state.to ? `${ago.base === "now" ? "last" : "newest"} ${state.from.replace(/^[a-z]*-?/, "") || length}` : `${clock(range.from)} + ${length}`;
  return (
    <nav class="crumbs" aria-label="what is seen">
      <button type="button" class="quiet" onClick={() => history.back()}>‹ back</button>
      <button type="button" class="quiet" disabled={!isNarrowed} onClick={() => go(all)}>✕ clear</button>
      <span>all</span>
      {state.q && <Crumb clear={() => go({ q: "" })} what="the selector">{text(state.q, 2000)}</Crumb>}
      {isDifference(state) && state.bq && <Crumb clear={() => go({ bq: "" })} what="the selector before">before: {text(state.bq, 2000)}</Crumb>}
      <Crumb clear={state.from === defaults.from && !state.to ? undefined : () => go({ from: defaults.from, to: "" })} what="the range">{when}</Crumb>
      {patterns.map(([f, name]) => state[f] && <Crumb key={f} clear={() => go({ [f]: "" })} what={name}>{name} {text(state[f], 60)}</Crumb>)}
      {state.at && <Crumb clear={() => go({ at: "", mw: "" })} what="the attribute">{text(state.at, 60)}</Crumb>}
      {(state.st || state.ns) && <Crumb clear={() => go({ st: "", ns: "", mw: "" })} what="the state">{text(state.st || state.ns, 60)}</Crumb>}
      {state.z && <Crumb clear={() => go({ z: "" })} what="the zoom">zoomed</Crumb>}
    </nav>
  );
}

function Crumb({ children, clear, what }: { children: preact.ComponentChildren; clear?: () => void; what: string }) {
  return (
    <span class={"crumb" + (what.startsWith("the selector") ? " long" : "")}><span title={[children].flat().join("")}>{children}</span>{clear && <button type="button" aria-label={"without " + what} title={"without " + what} onClick={clear}>✕</button>}</span>
  );
}
