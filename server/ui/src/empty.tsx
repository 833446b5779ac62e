// The types of profiles that the store has, and the sentences for what it has not.

import { useAnswer } from "./answer";
import { querier } from "./api";
import { clock, text } from "./format";
import { Message } from "./message";
import type { Page } from "./page";
import { NoSample } from "./stateschoice";
import { stamp } from "./url";

export interface Type { ID: string; name: string; sampleType: string; sampleUnit: string }
export interface Types { all: Type[]; id: (t: string) => string; unit: (id: string) => string }

// useTypes asks for all types. The first one is CPU time, if there is some.
export function useTypes(tick: number) {
  return useAnswer<Types>(String(tick), async (signal) => {
    const answer = await querier<{ profileTypes?: Type[] }>("ProfileTypes", {}, signal);
    const all = (answer.profileTypes ?? []).sort((a, b) => (a.ID < b.ID ? -1 : 1));
    const first = all.find((t) => t.sampleType === "cpu") ?? all.find((t) => t.sampleType === "inuse_space") ?? all[0];
    // An address may have the short name of a type, as the command has it.
    const id = (t: string) => {
      const fit = all.filter((a) => [a.ID, a.sampleType, a.sampleType + ":" + a.sampleUnit].includes(t));
      return t === "" ? first?.ID ?? "" : fit.length === 1 ? fit[0]!.ID : t;
    };
    return { all, id, unit: (id) => all.find((t) => t.ID === id)?.sampleUnit ?? "" };
  });
}

// NoStore is for a store that never had a profile: how to send one.
function NoStore() {
  const line = `curl --data-binary @cpu.pb.gz '${location.origin}${location.pathname}pprof?service_name=shop'`;
  return (
    <Message>
      <h2>No profile has been pushed yet</h2>
      <p>Point Pyroscope's SDK, Grafana Alloy or an OpenTelemetry profiler at <code>{location.origin + location.pathname}</code>, or send a file:</p>
      <pre tabIndex={0}>{line}</pre>
      <button type="button" onClick={() => void navigator.clipboard?.writeText(line)}>copy</button>
    </Message>
  );
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
  const within = range.from <= range.newest && range.newest <= range.to;
  return (
    <Message>
      <p>No profile is chosen from {clock(range.from)} to {clock(range.to)}{state.q && <> by <code>{text(state.q)}</code></>}.</p>
      {!within && <p>The newest profile is of {clock(range.newest)}.</p>}
      <p>
        {state.q && <button type="button" onClick={() => go({ q: "" })}>without the selector</button>}
        {!within && <button type="button" onClick={() => go({ from: "-1h", to: "" })}>the newest hour</button>}
        <button type="button" onClick={() => go({ from: stamp(0), to: "" })}>all times</button>
      </p>
    </Message>
  );
}

function AllZero() {
  return <Message><p>There are profiles, and all of their values are zero.</p></Message>;
}

export const Empty = { Store: NoStore, Nothing, Zero: AllZero };
