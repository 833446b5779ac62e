// What frames stand for, and how they are laid out: the menu above a graph.

import { useRef, useState } from "preact/hooks";
import { useAnswer } from "./answer";
import { querier } from "./api";
import { text } from "./format";
import { docked } from "./framebox";
import { useOutside } from "./events";
import { labelRange, type Page } from "./page";
import { Buttons, Toggle } from "./tools";
import { defaults } from "./url";

export const granularities = ["", "line", "file", "package", "binary"];

// Granularity chooses what a frame is. What is chosen by the names of others goes.
export function Granularity({ page: { state, go } }: { page: Page }) {
  return (
    <select aria-label="a frame is a" title="a frame is a function, a line ..." value={state.gran} onChange={(e) => go({ gran: e.currentTarget.value, z: "", win: "", s: "", fn: "", near: "" })}>
      {granularities.map((g) => <option value={g} key={g}>by {g || "function"}</option>)}
    </select>
  );
}

// GraphTools are the choices above a graph.
export function GraphTools({ page, hasColour = true, hasGroup = false }: { page: Page; hasColour?: boolean; hasGroup?: boolean }) {
  const { state, go } = page;
  return (
    <>
      <Granularity page={page} />
      <Toggle isOn={state.inv === "1"} set={(on) => go({ inv: on ? "1" : "", z: "", win: "" })} what="invert" />
      <ViewMenu page={page} hasColour={hasColour} hasGroup={hasGroup} />
    </>
  );
}

interface Props { page: Page; hasColour: boolean; hasGroup: boolean }

export function ViewMenu({ page, hasColour, hasGroup }: Props) {
  const [isOpen, set] = useState(false), place = useRef<HTMLSpanElement>(null), { state } = page;
  useOutside(isOpen, place, () => set(false));
  const close = (e: KeyboardEvent) => {
    if (e.key !== "Escape") return;
    set(false);
    place.current!.querySelector("button")!.focus();
  };
  const chosen = [hasGroup && state.group && "by " + text(state.group, 24), state.fold && "folded", state.o && "by name"].filter(Boolean).join(", ");
  return (
    <span class="menu-place" ref={place} onKeyDown={close}>
      <button type="button" aria-expanded={isOpen} onClick={() => set(!isOpen)}>view{chosen && ": " + chosen} ▾</button>
      {isOpen && <Choices page={page} hasColour={hasColour} hasGroup={hasGroup} />}
    </span>
  );
}

function Choices({ page, hasColour, hasGroup }: Props) {
  const { state, go } = page, isDocked = docked.use() === "1";
  const names = useAnswer(hasGroup && page.range.newest ? `${page.loadKey} ${page.range.newest}` : null, async (signal) => (await querier<{ names?: string[] }>("LabelNames", { ...labelRange(page), matchers: state.q ? [state.q] : [] }, signal)).names ?? []);
  const labels = [...new Set([...(names.data ?? []).filter((n) => !n.startsWith("__")), state.group])].filter(Boolean);
  return (
    <div class="view-menu" role="group" aria-label="view of the graph">
      <span>order</span><Buttons label="order of frames" of={[["", "left-heavy"], ["name", "by name"]]} value={state.o} set={(o) => go({ o })} />
      {hasColour && (
        <><label for="colour">colour by</label>
          <select id="colour" value={state.c} onChange={(e) => go({ c: e.currentTarget.value })}>
            <option value="">package</option><option value="file">file</option><option value="binary">binary</option><option value="value">value</option>
            {state.h && <option value="state">state</option>}
          </select></>
      )}
      {hasGroup && (
        <><label for="group">first level</label>
          <select id="group" value={state.group} onChange={(e) => go({ group: e.currentTarget.value, z: "", win: "" })}>
            <option value="">functions</option>{labels.map((n) => <option value={n} key={n}>values of {text(n, 60)}</option>)}
          </select></>
      )}
      <span>recursion</span><label class="check"><input type="checkbox" checked={state.fold === "1"} onChange={(e) => go({ fold: e.currentTarget.checked ? "1" : defaults.fold, z: "", win: "" })} /> folded: a call of itself is one frame</label>
      <span>values</span><label class="check"><input type="checkbox" checked={isDocked} onChange={(e) => docked.set(e.currentTarget.checked ? "1" : "")} /> docked below the page</label>
    </div>
  );
}
