// The head of the page: what is asked for.

import { useEffect, useState } from "preact/hooks";
import { useAnswer } from "./answer";
import { querier } from "./api";
import type { Type } from "./empty";
import { text } from "./format";
import { labelRange, sideBefore, type Page } from "./page";
import { SelectorField } from "./selector";
import { Share } from "./share";
import { Times } from "./times";
import { states } from "./url";

interface Props { page: Page; tenant: string | undefined; types: Type[]; refresh: () => void; help: () => void; open: () => void }

export function Header({ page, tenant, types, refresh, help, open }: Props) {
  const { state, go } = page;
  const { data: names = [] } = useAnswer(page.range.newest ? `${page.loadKey} ${page.range.newest}` : null, (signal) => page.load.afterFirst(signal).then(async () => (await querier<{ names?: string[] }>("LabelNames", labelRange(page), signal)).names?.filter((n) => !n.startsWith("__"))));
  return (
    <header>
      <h1><a class="brand" href="./"><Logo />granary{tenant && ` · ${tenant}`}</a></h1>
      <label class="field"><span class="sr">type</span><TypeSelect types={types} value={state.t} go={(t) => go({ t, z: "" })} /></label>
      <SelectorField page={page} />
      <label class="field">by <select value={state.by} onChange={(e) => go({ by: e.currentTarget.value })}>
        <option value="">–</option>
        {(state.h || state.by === states) && <option value={states}>state over time</option>}
        {[...new Set([...names, state.by])].filter((n) => n && n !== states).map((n) => <option value={n} key={n}>{text(n, 60)}</option>)}
      </select></label>
      <Times page={page} />
      <label class="check"><input type="checkbox" checked={state.live === "1"} onChange={(e) => go({ live: e.currentTarget.checked ? "1" : "" })} /> live</label>
      <button type="button" onClick={refresh} title="ask again" aria-label="ask again">↻</button>
      <span class="grow" />
      <button type="button" disabled={!state.t} onClick={() => go({ v: "difference", ...sideBefore(page) })}>compare</button>
      <Share page={page} />
      <button type="button" onClick={open}>open…</button>
      <ThemeButton />
      <button type="button" onClick={help} aria-label="keys and help" title="keys and help">?</button>
    </header>
  );
}

function TypeSelect({ types, value, go }: { types: Type[]; value: string; go: (t: string) => void }) {
  const groups = new Map<string, Type[]>();
  for (const t of types) groups.set(t.name, [...(groups.get(t.name) ?? []), t]);
  const isKnown = types.some((t) => t.ID === value);
  return (
    <select value={value} onChange={(e) => go(e.currentTarget.value)} class="type">
      {!isKnown && value && <option value={value}>{text(value, 60)}</option>}
      {[...groups].map(([name, all]) => (
        <optgroup label={text(name, 60)} key={name}>{all.map((t) => <option value={t.ID} key={t.ID}>{text(t.sampleType || "without a name", 60)}</option>)}</optgroup>
      ))}
    </select>
  );
}

const themes = ["", "light", "dark"];

// applyTheme makes the page light or dark, whatever the system is.
function applyTheme(theme: string) {
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
  dispatchEvent(new Event("theme"));
}

function ThemeButton() {
  const [theme, set] = useState(() => localStorage.getItem("theme") ?? "");
  useEffect(() => applyTheme(theme), [theme]);
  const next = themes[(themes.indexOf(theme) + 1) % themes.length]!;
  return (
    <button type="button" aria-label={`colours: ${theme || "as the system"}`} title={`colours: ${theme || "as the system"}`} onClick={() => { localStorage.setItem("theme", next); set(next); }}>
      {theme === "dark" ? "☾" : theme === "light" ? "☀" : "◐"}
    </button>
  );
}

const Logo = () => (
  <svg class="logo" viewBox="0 0 16 16" aria-hidden="true"><rect y="2" width="16" height="3.4" rx="1" /><rect y="6.3" width="11" height="3.4" rx="1" /><rect y="10.6" width="6" height="3.4" rx="1" /></svg>
);
