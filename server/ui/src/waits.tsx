// The view of waits: how long states last, by state, attribute or function, and how long what could run waited for a processor.

import { useAnswer } from "./answer";
import type { Head } from "./api";
import { many, percent, text, value } from "./format";
import { Panel } from "./message";
import type { Page } from "./page";
import { fillOf, group, noun, type StateText } from "./states";
import { Where } from "./stateschoice";
import { Buttons } from "./tools";
import { end, parseAgo, stamp } from "./url";
import { Woken } from "./woken";

interface Stats { key: string[]; total_ns: number; share: number; count: number; mean_ns: number; p50_ns: number; p99_ns: number; max_ns: number; longest: StateText & { attribute: string; start: string; end: string } }
interface Answered extends Head { by: string[]; attributes: number; total_ns: number; all: number; rows: Stats[] }

// latencies are the states of what could run and has no processor: of goroutines, and of threads of Linux.
const latencies = ["runnable", "waiting (CPU)"];

const mostRows = 1000, shown = 200;

// namer is the attribute below a goroutine or a thread with its name.
const namer = (path: string) => (path.startsWith("Goroutines/") ? "function" : path.startsWith("Threads/") ? "Exec_name" : "attribute");

// keys are what statistics are by. Where the number of an attribute is that of a place, its goroutine has another; wakers are places then.
function keys(by: string, path: string): string[] {
  const own = path.endsWith("{track}") && by !== "waker" ? "goid" : "attribute";
  if (by === "attribute" || by === "waker") return [...new Set([own, by === "waker" ? by : namer(path), "state"])];
  return by === "function" || by === "latency" ? [namer(path), "state"] : ["state"];
}

export function Waits({ page }: { page: Page }) {
  const { state, go, range } = page, hasWakers = namer(state.p) === "function", by = keys(!hasWakers && state.wb === "waker" ? "" : state.wb, state.p);
  const params = { p: state.p, by: by.join(","), from: parseAgo(state.from) ? stamp(range.from) : state.from, to: parseAgo(end(state)) ? stamp(range.to + 1) : state.to, rows: mostRows };
  const answer = useAnswer(state.p && range.newest ? JSON.stringify([state.h, params]) : null, (signal) => page.load.ask<Answered>(`histories/${encodeURIComponent(state.h)}/stats`, params, signal));
  return (
    <section class="waits" aria-label="statistics of states">
      <div class="tools">
        <Buttons label="statistics by" of={[["", "state"], ["attribute", noun(state.p)], ["function", namer(state.p) === "Exec_name" ? "program" : "function"], ["latency", "scheduler latency"], ...(hasWakers ? [["waker", "woken by"] as [string, string]] : [])]} value={state.wb} set={(wb) => go({ wb })} />
        <input type="search" class="find" aria-label="find rows by a text in their names" placeholder="find rows" maxLength={100} value={state.rf} spellcheck={false} onInput={(e) => go({ rf: e.currentTarget.value }, true)} />
        <span class="grow" />
        {state.t && <button type="button" class="link" onClick={() => go({ v: "states" })}>samples by state</button>}
      </div>
      <div class="choice-note">{state.at ? <Woken page={page} /> : "A click on a row shows the longest of its states, and what ended it."}</div>
      <Panel of={answer}>{(of) => <Table page={page} of={of} />}</Panel>
    </section>
  );
}

function Table({ page, of }: { page: Page; of: Answered }) {
  const { by } = of, isLatency = page.state.wb === "latency", last = by.length - 1;
  const wanted = page.state.rf.toLowerCase();
  const fit = of.rows.filter((r) => r.key[last] !== "null" && (page.state.wb !== "waker" || group(r.key[last]!) === "waiting") && (!isLatency || latencies.includes(r.key[last]!)) && r.key.some((k, i) => (by[i] === "goid" ? "goroutine " + k : k).toLowerCase().includes(wanted))), rows = fit.slice(0, shown);
  const total = fit.reduce((sum, r) => sum + r.total_ns, 0), heads = [...by.keys()].filter((i) => !(isLatency && i === last));
  const names: Record<string, string> = { Exec_name: "program", goid: "goroutine", waker: page.state.p.endsWith("{track}") ? "woken by track" : "woken by", attribute: noun(page.state.p) };
  if (!rows.length) return <div class="none">{wanted && of.rows.length ? "No row has this text." : isLatency && of.rows.length ? "Nothing waited for a processor in this range: no state is runnable." : <>No state in this range. <Where page={page} /></>}</div>;
  return (
    <div class="table-scroll whole" tabIndex={0} role="region" aria-label="how long states last">
      <table class="list">
        <caption class="muted">{isLatency ? "How long what could run waited until it ran" : `How long ${many(of.attributes, noun(page.state.p))} of ${text(page.state.h, 60)} were in each state${page.state.q && ": of all of them, because the selector chooses samples"}`}{of.all > of.rows.length && `, the ${of.rows.length.toLocaleString("en")} longest of ${of.all.toLocaleString("en")}`}</caption>
        <thead><tr>{heads.map((i) => <th scope="col" key={i}>{names[by[i]!] ?? by[i]}</th>)}{["total", "share", "count", "mean", "p50", "p99"].map((k) => <th scope="col" class="n" key={k}>{k}</th>)}<th scope="col" class="n">longest</th></tr></thead>
        <tbody>{rows.map((r) => <Line page={page} r={r} heads={heads} state={r.key[last]!} total={total} key={r.key.join("\0")} />)}</tbody>
      </table>
      {fit.length > shown && <p class="none">{(fit.length - shown).toLocaleString("en")} more</p>}
    </div>
  );
}

function Line({ page: { state: { at, st, wb }, go }, r, heads, state, total }: { page: Page; r: Stats; heads: number[]; state: string; total: number }) {
  const ns = (v: number) => value(v, "nanoseconds"), { attribute, start, end } = r.longest, isOn = at === attribute && st === r.longest.state;
  const find = () => go({ from: start, to: end, at: attribute, st: r.longest.state, ns: "", mw: "", z: "" });
  return (
    <tr class={"goes" + (isOn ? " chosen" : "")} aria-current={isOn} onClick={() => getSelection()?.isCollapsed !== false && find()}>
      {heads.map((i) => [i, r.key[i]!] as const).map(([i, k]) => <td key={i}>{k === state && fillOf(state) >= 0 && <i class={"fill fill" + fillOf(state)} aria-hidden="true" />}{k !== "null" ? text(k, 120) : wb === "waker" ? "not known" : ""}</td>)}
      <td class="n">{ns(r.total_ns)}</td><td class="n">{percent(r.total_ns, total)}</td><td class="n">{r.count.toLocaleString("en")}</td>
      <td class="n">{ns(r.mean_ns)}</td><td class="n">{ns(r.p50_ns)}</td><td class="n">{ns(r.p99_ns)}</td>
      <td class="n"><button type="button" class="link" title={"show " + text(attribute, 80) + " then"}>{ns(r.max_ns)}</button></td>
    </tr>
  );
}
