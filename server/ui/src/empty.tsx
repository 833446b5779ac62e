// The types of profiles that the store has, and the sentences for what it has not.

import { useAnswer } from "./answer";
import { querier, type Profiles } from "./api";
import { clock, text } from "./format";
import { Message } from "./message";
import { here } from "./older";
import { copy, type Page } from "./page";
import { NoSample } from "./stateschoice";
import { defaults, stamp } from "./url";

export interface Type { ID: string; name: string; sampleType: string; sampleUnit: string }
export interface Types { all: Type[]; id: (t: string) => string; unit: (id: string) => string }

// useTypes asks for all types. That of an address without one is the one that the command chooses: cpu or, if no profile has
// it, inuse_space.
export function useTypes(tick: number) {
  return useAnswer<Types>(String(tick), async (signal) => {
    const answer = await querier<{ profileTypes?: Partial<Type>[] }>("ProfileTypes", {}, signal); // without the names that are empty
    const all = (answer.profileTypes ?? []).map((t): Type => ({ ID: "", name: "", sampleType: "", sampleUnit: "", ...t })).sort((a, b) => (a.ID < b.ID ? -1 : 1));
    const first = all.find((t) => t.sampleType === "cpu") ?? all.find((t) => t.sampleType === "inuse_space") ?? all[0];
    // An address may have the short name of a type, as the command has it.
    const id = (t: string) => {
      const fit = all.filter((a) => [a.ID, a.sampleType, a.sampleType + ":" + a.sampleUnit].includes(t));
      return t === "" ? first?.ID ?? "" : fit[0]?.ID ?? t;
    };
    return { all, id, unit: (id) => all.find((t) => t.ID === id)?.sampleUnit ?? "" };
  });
}

// NoStore is for a store that never had a profile: how to send one.
function NoStore() {
  if (here) return <Message><p>There is no profile of this time.</p></Message>;
  const line = `curl --data-binary @cpu.pb.gz '${location.origin}${location.pathname}pprof?service_name=shop'`;
  return (
    <Message>
      <h2>No profile has been pushed yet</h2>
      <p>Point Pyroscope's SDK, Grafana Alloy or an OpenTelemetry profiler at <code>{location.origin + location.pathname}</code>, or send a file:</p>
      <pre tabIndex={0}>{line}</pre>
      <button type="button" onClick={() => void copy("the line", line)}>copy</button>
      <p>To look at a file alone, drop it on this page.</p>
    </Message>
  );
}

// matchers returns the matchers of a selector as they are written.
export function matchers(selector: string): string[] {
  const inside = selector.trim().replace(/^\{|\}$/g, ""), one = /(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`[^`]*`|[^"'`,])+/g;
  return (inside.match(one) ?? []).map((m) => m.trim()).filter(Boolean);
}

const mostMatchers = 8;

// Which says which matchers of a selector fit no profile of the range.
function Which({ page: { state, go, load, loadKey } }: { page: Page }) {
  const all = matchers(state.q), ask = (m: string, signal: AbortSignal) => load.ask<Profiles>("profiles", { t: state.t, q: `{${m}}`, from: state.from, to: state.to, rows: "0" }, signal);
  const isAsked = all.length > 1 && all.length <= mostMatchers;
  const found = useAnswer(isAsked ? JSON.stringify([loadKey, all]) : null, (signal) => Promise.all(all.map(async (m) => (await ask(m, signal)).all))).data;
  if (!found || found.length !== all.length) return null;
  const none = all.filter((_, i) => !found[i]);
  if (!none.length) return <p>Each of its matchers fits some profiles, and no profile fits all of them.</p>;
  return <p>No profile fits {none.map((m) => <><code key={m}>{text(m, 100)}</code> <button type="button" onClick={() => go({ q: `{${all.filter((o) => o !== m).join(",")}}` })}>without it</button> </>)}</p>;
}

// Nothing is for a question that chose nothing: it says why, as far as the page knows.
function Nothing({ page }: { page: Page }) {
  const { state, go, range } = page;
  if (state.focus || state.ignore || state.hide) {
    return (
      <Message>
        <p>No stack is left: the patterns of frames leave all of them out.</p>
        <button type="button" onClick={() => go({ focus: "", ignore: "", hide: "" })}>show all frames</button>
      </Message>
    );
  }
  if (state.st || state.ns || state.at) return <NoSample page={page} />;
  const isGone = page.floor > 0 && range.to <= page.floor;
  const within = range.from <= range.newest && range.newest <= range.to;
  return (
    <Message>
      <p>No profile is chosen from {clock(range.from)} to {clock(range.to)}{state.q && <> by <code>{text(state.q)}</code></>}.</p>
      <Which page={page} />
      {isGone && <p>All before {clock(page.floor)} was evicted or dropped.</p>}
      {!within && <p>The newest profile is of {clock(range.newest)}.</p>}
      <p>
        {state.q && <button type="button" onClick={() => go({ q: "" })}>without the selector</button>}
        {!within && <button type="button" onClick={() => go({ from: defaults.from, to: "" })}>the newest hour</button>}
        {isGone && <button type="button" onClick={() => go({ from: stamp(page.floor), to: "" })}>what is left</button>}
        <button type="button" onClick={() => go({ from: stamp(page.oldest || 0), to: "" })}>all times</button>
      </p>
    </Message>
  );
}

function AllZero() {
  return <Message><p>There are profiles, and all of their values are zero.</p></Message>;
}

export const Empty = { Store: NoStore, Nothing, Zero: AllZero };
