// The page: header, chart, states, and a view below them.

import { useEffect, useMemo, useState } from "preact/hooks";
import { useAnswer } from "./answer";
import { Load, get, type StoreState } from "./api";
import { CallGraphView } from "./callgraph";
import { Chart } from "./chart";
import { CopyField } from "./copyfield";
import { Crumbs } from "./crumbs";
import { Difference } from "./difference";
import { on } from "./events";
import { OpenedNote, OpenFiles, useDrop } from "./files";
import { FlameView } from "./flameview";
import { FrameBox } from "./framebox";
import { functionName, only } from "./frames";
import { Header } from "./header";
import { Help } from "./help";
import { Empty, useTypes } from "./empty";
import { text, zone } from "./format";
import { Failed } from "./message";
import { Older, Reading } from "./older";
import { details, inView, missing, question, spoken, touched, useAddress, type Page } from "./page";
import { bare, Parts, useOpen } from "./panels";
import { ProfilesView } from "./profiles";
import { SandwichView } from "./sandwich";
import { SourceView } from "./source";
import { useHistories, usePaths, withDefaults } from "./states";
import { ServicesView, useFirstView } from "./services";
import { StatesRow, useAnyStates } from "./statesrow";
import { StatesTab } from "./statestab";
import { Waits } from "./waits";
import { StoreView } from "./storeview";
import { TimelineView } from "./timelineview";
import { resolved } from "./url";

const views: Record<string, (p: { page: Page }) => preact.JSX.Element | null> = {
  services: ServicesView, flame: FlameView, sandwich: SandwichView, graph: CallGraphView, source: SourceView, difference: Difference, timeline: TimelineView, states: StatesTab, waits: Waits, profiles: ProfilesView, store: StoreView,
};

const tabled = ["flame", "sandwich", "source", "difference"]; // views with a table of functions

export function App() {
  const [state, go] = useAddress();
  const [tick, setTick] = useState(0);
  const [isHelp, setHelp] = useState(false);
  zone.isUTC = state.utc === "1";
  const store = useAnswer(String(tick), (signal) => get<StoreState>("api/v1/store", {}, signal));
  const types = useTypes(tick), isChosen = useFirstView(state, go, store);
  const known = useHistories(tick), histories = known.data ?? [];
  useLive(state.live === "1", store.error !== undefined, () => setTick((n) => n + 1));
  useEffect(() => on(window, { keydown: (e: KeyboardEvent) => { if (e.key === "?" && !(e.target instanceof HTMLInputElement)) setHelp(true); } }), []);
  const [opening, setOpening] = useState<{ files: File[]; n: number } | null>(null); // the files of the nth dialog
  const openFiles = (files: File[]) => setOpening((before) => ({ files, n: (before?.n ?? 0) + 1 }));
  useDrop(openFiles);
  const [isUnread, setUnread] = useState(false);
  useEffect(() => on(window, { unread: () => setUnread(true) }), []);
  const read = () => { setUnread(false); setTick((n) => n + 1); };

  const paths = usePaths(state.h || (histories[0]?.name ?? ""), String(tick));
  const isBare = types.data?.all.length === 0; // nothing has samples: a trace without any is states alone
  bare.is = isBare;
  const typed = withDefaults({ ...state, t: types.data?.id(state.t) ?? state.t, v: isBare && state.v !== "store" ? "waits" : state.v }, histories, paths.data);
  const loadKey = JSON.stringify([question(typed), tick]);
  const load = useMemo(() => new Load(), [loadKey]);
  const history = histories.find((h) => h.name === typed.h);
  const newest = Date.parse(store.data?.newest || isBare && history?.end || "") || (store.error ? Date.now() : 0);
  const now = useMemo(() => Date.now(), [loadKey]);
  const range = resolved(state, { newest, now });
  const page: Page = { state: typed, go, load, loadKey, range, floor: store.data?.floor ? Date.parse(store.data.floor) : 0, oldest: Date.parse(store.data?.oldest ?? ""), unit: types.data?.unit(typed.t) ?? "", history };
  const v = views[typed.v] ? typed.v : "flame", View = views[v]!;
  const isServices = v === "services", isOpen = { chart: useOpen("chart"), states: useOpen("states") };
  const anyStates = useAnyStates(page), hasTable = tabled.includes(v);
  useEffect(() => { if (!hasTable && v !== "timeline") details.set(""); }, [v]); // what a graph said is of no other view
  const isReady = isChosen && known.data !== undefined && (histories.length === 0 || paths.data !== undefined || paths.error !== undefined) && types.data !== undefined && (store.data !== undefined || store.error !== undefined);
  return (
    <>
      <Header page={page} tenant={store.data?.tenant} types={types.data?.all ?? []} refresh={() => setTick((n) => n + 1)} help={() => setHelp(true)} open={() => openFiles([])} />
      <main>
        {types.data && store.error?.status === 0 && <p class="banner" role="alert">The server does not answer. The page shows what it answered before{state.live && ", and asks again"}.</p>}
        <Missing />
        <OpenedNote store={store.data} />
        {!isUnread && (store.data || !store.error) && <Older page={page} store={store.data} />}
        {isUnread ? <Reading done={read} /> : types.error && types.isDone && !types.data ? <Failed of={types} /> : isReady && (isBare && !history ? <Empty.Store /> : (
          <>
            {isOpen.chart && !isServices && <Chart page={page} />}
            {anyStates && isOpen.states && <StatesRow page={page} histories={histories} paths={paths.data ?? []} />}
            <div class="view-bar">
              <Tabs page={page} v={v} names={isBare ? ["waits", "store"] : Object.keys(views).filter((v) => v !== "states" && v !== "waits" || history)} />
              {(!isServices || state.q) && <Crumbs page={page} />}
              <Parts has={[...(isServices ? [] : ["chart"]), ...(anyStates ? ["states"] : []), ...(hasTable ? ["table"] : [])]} />
            </div>
            <div id="view" role="tabpanel" aria-labelledby={"tab-" + v}><View page={page} /></div>
          </>
        ))}
      </main>
      <FrameBox />
      <Lines />
      {isHelp && <Help close={() => setHelp(false)} />}
      {opening && <OpenFiles key={opening.n} first={opening.files} close={() => setOpening(null)} />}
      <CopyField />
    </>
  );
}

// Missing says that a front answers without some of its nodes.
function Missing() {
  const nodes = missing.use().replaceAll("\n", "; ");
  return nodes ? <p class="banner" role="status">The answers are partial, without {text(nodes, 1000)}</p> : null;
}

function Tabs({ page: { state, go }, v: now, names }: { page: Page; v: string; names: string[] }) {
  const show = (v: string) => { // of the function that is zoomed to, or whose row is chosen
    const fn = (v === "sandwich" || v === "source") && now !== "sandwich" && now !== "source" && (inView.name || only(state.s));
    go(fn ? { v, fn: v === "source" ? functionName(fn, state.gran) : fn } : { v });
  };
  const step = (e: KeyboardEvent) => {
    const by = e.key === "ArrowRight" ? 1 : e.key === "ArrowLeft" ? -1 : 0;
    if (!by) return;
    const next = names[(names.indexOf(now) + by + names.length) % names.length]!;
    show(next);
    document.getElementById("tab-" + next)?.focus();
  };
  return (
    <div class="tabs" role="tablist" aria-label="view" onKeyDown={step}>
      {names.map((v) => (
        <button type="button" role="tab" id={"tab-" + v} key={v} aria-selected={v === now} aria-controls="view" tabIndex={v === now ? 0 : -1} onClick={() => show(v)}>{v}</button>
      ))}
    </div>
  );
}

// Lines are at the bottom of the page: the frame that is pointed at, and what the answer read.
function Lines() {
  return (
    <footer class="lines">
      <span class="details" id="details">{details.use()}</span>
      <span class="touched">{touched.use()}</span>
      <span class="sr" role="status" aria-live="polite">{spoken.use()}</span>
    </footer>
  );
}

// useLive asks again every 10 s while the page is seen, and less often while the server does not answer.
function useLive(isLive: boolean, isGone: boolean, again: () => void) {
  useEffect(() => {
    if (!isLive) return;
    const timer = setInterval(() => document.hidden || again(), isGone ? 30_000 : 10_000);
    return () => clearInterval(timer);
  }, [isLive, isGone]);
}
