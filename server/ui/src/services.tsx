// The view of the values of a label, of services first: a row or a card each, all of them.

import { useEffect, useRef, useState } from "preact/hooks";
import { useAnswer, type Answer } from "./answer";
import { querier, type Changed, type Service, type Services, type StoreState } from "./api";
import { Empty } from "./empty";
import { change, clock, count, percent, rated, split, text, value } from "./format";
import { Panel } from "./message";
import { labelRange, readBy, type Page } from "./page";
import { Spark } from "./spark";
import { Buttons, useTyped } from "./tools";
import { end, fresh, narrowed, print, shifted, stamp, type State } from "./url";

const pageRows = 50, chunkRows = 20; // rows of a page, and rows whose functions are asked for at once

// useFirstView chooses the view of a page that was opened without anything in its address, and reports whether there is one: the
// services if the store or the nodes of a front have several, by the label that the server takes. What is cleared later leads
// nowhere else.
export function useFirstView(state: State, go: Page["go"], store: Answer<StoreState>): boolean {
  const [isOpen, set] = useState(() => print(state) === ""); // later a bare address is of the view that it was made bare in
  const names = useAnswer(isOpen ? "services" : null, async (signal) => {
    const [named, jobs] = await Promise.all(["service_name", "job"].map(async (name) => (await querier<{ names?: string[] }>("LabelValues", { name }, signal)).names ?? []));
    return named!.length ? named! : jobs!;
  });
  const isKnown = names.isDone && (store.data ?? store.error) !== undefined, isMany = (names.data?.length ?? 0) > 1;
  useEffect(() => {
    if (!isOpen || !isKnown) return;
    if (isMany) go({ v: "services" }, true);
    set(false);
  }, [isOpen, isKnown, isMany]);
  return !isOpen || isKnown && !isMany;
}

const spoken: Record<string, string> = { "1h": "an hour", "1d": "a day", "1w": "a week" };
const hours: Record<string, number> = { "1h": 1, "1d": 24, "1w": 168 };

// asked are the parameters of a question for rows.
function asked({ state: s }: Page) {
  const order = s.ss.replace("-", ""), isChange = order in hours;
  return { t: s.t, q: s.q, from: s.from, to: s.to, sum: s.sum, label: s.l, match: s.m, sort: isChange ? "change" : order, ago: isChange ? order : "", reverse: s.ss.startsWith("-") ? "1" : "" };
}

export function ServicesView({ page }: { page: Page }) {
  const { state } = page, params = asked(page), [rows, setRows] = useState(pageRows), [chosen, choose] = useState<string[]>([]);
  const answer = useAnswer(state.t ? JSON.stringify([page.loadKey, params, rows]) : null, (signal) => page.load.ask<Services>("services", { ...params, rows }, signal).then((of) => ({ ...of, from: page.oldest > Date.parse(of.from ?? "") ? stamp(page.oldest) : of.from })));
  useEffect(() => readBy(answer.data), [answer.data]);
  useEffect(() => choose([]), [state.l]);
  const toggle = (v: string) => choose((all) => (all.includes(v) ? all.filter((o) => o !== v) : [...all, v].slice(-2)));
  const View = state.look === "cards" ? Cards : Table;
  return (
    <>
      <Tools page={page} of={answer.data} />
      {answer.data?.all ? <Compare page={page} of={answer.data} chosen={chosen} clear={() => choose([])} /> : null}
      <Panel of={answer}>
        {(of) => !of.all ? <Empty.Nothing page={page} /> : (
          <div class={"table-scroll services " + (state.look === "cards" ? "" : "whole")} tabIndex={0} role="region" aria-label={`values of ${text(of.label, 60)}`} onKeyDown={walk}>
            <View page={page} of={of} chosen={chosen} toggle={toggle} />
            {!of.rows.length && <p class="none">No name matches the search.</p>}
            {of.matching > of.rows.length && <button type="button" class="more" onClick={() => setRows((n) => n + 4 * pageRows)}>{count(of.matching - of.rows.length)} more</button>}
          </div>
        )}
      </Panel>
    </>
  );
}

// walk goes from a name to the next one, or the one before, and by a slash to the search.
function walk(e: KeyboardEvent) {
  if (e.key === "/") { e.preventDefault(); document.getElementById("search")?.focus(); }
  const all = [...document.querySelectorAll<HTMLElement>(".services .go")], at = all.indexOf(document.activeElement as HTMLElement);
  const to = e.key === "ArrowDown" ? at + 1 : e.key === "ArrowUp" ? at - 1 : -1;
  if (at >= 0 && to >= 0 && all[to]) { e.preventDefault(); all[to]!.focus(); }
}

// Tools are the label, the search and the look.
function Tools({ page, of }: { page: Page; of?: Services }) {
  const { state, go } = page, [typed, set] = useTyped(page, "m");
  const labels = useAnswer(page.range.newest ? `${page.loadKey}` : null, async (signal) => (await querier<{ names?: string[] }>("LabelNames", labelRange(page), signal)).names ?? []);
  const label = of?.label ?? state.l, names = [...new Set([label, ...(labels.data ?? []).filter((n) => !n.startsWith("__"))])];
  return (
    <div class="tools">
      <label class="field">a row for each <select value={label} onChange={(e) => go({ l: e.currentTarget.value })}>{names.map((n) => <option value={n} key={n}>{text(n, 60)}</option>)}</select></label>
      <span class="field search">
        <input id="search" type="search" aria-label="search names by a text or a pattern" placeholder="search  /" value={typed} spellcheck={false}
          onInput={(e) => set(e.currentTarget.value)} onKeyDown={(e) => { if (e.key === "Enter") { e.preventDefault(); document.querySelector<HTMLElement>(".services .go")?.focus(); } }} />
        <output aria-live="polite">{of && (of.matching < of.all ? `${count(of.matching)} of ${count(of.all)}` : count(of.all))}</output>
      </span>
      <Buttons label="look" of={[["", "table"], ["cards", "charts"]]} value={state.look} set={(look) => go({ look }, true)} />
      {state.look === "cards" && <Order page={page} of={of} />}
      <span class="grow" />
      {of && of.all > 0 && <span class="total">all <b>{amount(of, of.total)}</b></span>}
      {of && of.all > 0 && !of.sides.length && <span class="total">no profiles an hour before, to compare with</span>}
    </div>
  );
}

// Order chooses the order where there is no head of a table.
function Order({ page: { state, go }, of }: { page: Page; of?: Services }) {
  const all: [string, string][] = [["total", of?.mean ? "mean" : "rate"], ["name", "name"], ...(of?.sides ?? []).map(({ ago }): [string, string] => [ago, `change in ${spoken[ago]}`]), ["newest", "newest"]];
  return <label class="field">by <select value={state.ss} onChange={(e) => go({ ss: e.currentTarget.value }, true)}>{all.map(([v, what]) => <option value={v} key={v}>{what}</option>)}</select></label>;
}

// since is the difference of a row with itself before.
const since = (s: State, q: string, ago: string): Partial<State> => ({ ...fresh, v: "difference", q, bfrom: shifted(s.from, hours[ago]! * 36e5), bto: shifted(end(s), hours[ago]! * 36e5) });

// Compare leads to the difference of one row with itself before, or of two.
function Compare({ page: { state, go }, of, chosen, clear }: { page: Page; of: Services; chosen: string[]; clear: () => void }) {
  const [a, b] = chosen.map((v) => narrowed(state.q, of.label, v)), name = (v: string) => <b>{text(v || "none", 60)}</b>;
  return (
    <div class="tools compare" role="group" aria-label="compare">
      {!chosen.length ? <span>choose a row to compare it with another one{of.sides.length > 0 && ", or with itself before"}</span> : chosen.length === 2 ? <>
        <span>{name(chosen[0]!)} → {name(chosen[1]!)}</span>
        <button type="button" class="primary" onClick={() => go({ ...fresh, v: "difference", bq: a, q: b })}>compare these</button>
        <button type="button" onClick={() => go({ ...fresh, v: "difference", bq: b, q: a })}>the other way</button>
      </> : <>
        <span>{name(chosen[0]!)} with a second row{of.sides.length > 0 && ", or with itself"}</span>
        {of.sides.map(({ ago }) => <button type="button" key={ago} onClick={() => go(since(state, a!, ago))}>{spoken[ago]} before</button>)}
      </>}
      {chosen.length > 0 && <button type="button" class="quiet" aria-label="choose none" title="choose none" onClick={clear}>✕</button>}
    </div>
  );
}

// amount formats a total as a rate over the range, or as the mean that it is.
function amount(of: Services, total: number): string {
  const seconds = (Date.parse(of.to!) - Date.parse(of.from!)) / 1e3 || 1;
  return of.mean ? value(total, of.unit) : rated(total / seconds, of.unit, of.sample_type);
}

interface Rows { page: Page; of: Services; chosen: string[]; toggle: (v: string) => void }

function Table(props: Rows) {
  const { page, of } = props, ago = changedSince(props);
  return (
    <table class="list">
      <thead>
        <tr>
          <th scope="col"><span class="sr">compare</span></th>
          <Head page={page} by="name" what={text(of.label, 40)} />
          <th scope="col" class="line">over time</th>
          <Head page={page} by="total" what={of.mean ? "mean" : "rate"} isNumber />
          {of.sides.map((s) => <Head page={page} by={s.ago} what={`Δ ${spoken[s.ago]}`} isNumber key={s.ago} isSide={s.ago !== ago} />)}
          {ago && <th scope="col" class="far function">own share that changed most in {spoken[ago]}</th>}
          <th scope="col" class="n far series">series</th>
          <Head page={page} by="newest" what="newest" isNumber isFar />
        </tr>
      </thead>
      {chunks(of.rows).map((rows, i) => <Chunk {...props} rows={rows} offset={i * chunkRows} key={i}>{(changed, first) => (
        <tbody ref={first}>{rows.map((r) => <Row {...props} r={r} ago={ago} changed={changed?.get(r.value)} key={r.value} />)}</tbody>
      )}</Chunk>)}
    </table>
  );
}

const chunks = (rows: Service[]) => Array.from({ length: Math.ceil(rows.length / chunkRows) }, (_, i) => rows.slice(i * chunkRows, (i + 1) * chunkRows));

// changedSince is the side that functions are compared with: that of the order, or the first.
function changedSince({ page: { state }, of: { sides } }: Rows): string {
  return sides.find(({ ago }) => ago === state.ss.replace("-", ""))?.ago ?? sides[0]?.ago ?? "";
}

type Found = Map<string, Changed> | undefined;
interface ChunkProps extends Rows { rows: Service[]; offset: number; children: (changed: Found, first: preact.RefObject<any>) => preact.JSX.Element }

// Chunk asks for the functions of some rows once they are seen.
function Chunk(props: ChunkProps) {
  const { page, rows, offset, children } = props, first = useRef<HTMLElement>(null), [isSeen, see] = useState(false), ago = changedSince(props);
  useEffect(() => {
    const seen = new IntersectionObserver((all) => { if (all.some((e) => e.isIntersecting)) see(true); });
    seen.observe(first.current!);
    return () => seen.disconnect();
  }, []);
  const params = { ...asked(page), ago, rows: chunkRows, offset, changed: "1" };
  const answer = useAnswer(isSeen && ago ? JSON.stringify([page.loadKey, params, rows[0]?.value]) : null, (signal) => page.load.askLater<Services>("services", params, signal));
  return children(answer.data && new Map(answer.data.rows.filter((r) => r.changed).map((r) => [r.value, r.changed!])), first);
}

function Head({ page: { state, go }, by, what, isNumber, isSide, isFar }: { page: Page; by: string; what: string; isNumber?: boolean; isSide?: boolean; isFar?: boolean }) {
  const isOn = state.ss.replace("-", "") === by, isUp = (by === "name") !== state.ss.startsWith("-");
  return (
    <th scope="col" class={(isNumber ? "n" : "") + (isSide ? " side" : "") + (isFar ? " far" : "")} aria-sort={isOn ? (isUp ? "ascending" : "descending") : undefined}>
      <button type="button" class="sort" onClick={() => go({ ss: isOn && !state.ss.startsWith("-") ? "-" + by : by }, true)}>{what}{isOn && <span aria-hidden="true">{isUp ? " ▴" : " ▾"}</span>}</button>
    </th>
  );
}

interface One extends Rows { r: Service; ago: string; changed: Changed | undefined }

function Row(props: One) {
  const { of, r, ago, changed } = props;
  return (
    <tr>
      <td><Choose {...props} /></td>
      <td class="service"><Name {...props} /></td>
      <td class="line"><Spark line={r.line ?? []} /></td>
      <td class="n">{amount(of, r.total)}<Share part={r.total} of={of.total} /></td>
      {of.sides.map((s, i) => <td class={"n" + (s.ago === ago ? "" : " side")} key={s.ago}><Change {...props} ago={s.ago} before={r.before[i]!} /></td>)}
      {ago && <td class="far function"><Function c={changed} /></td>}
      <td class="n far series">{count(r.series)}</td>
      <td class="n far">{r.newest ? clock(Date.parse(r.newest), props.page.range.newest) : "none"}</td>
    </tr>
  );
}

function Cards(props: Rows) {
  const ago = changedSince(props);
  return (
    <div class="cards service-cards">
      {chunks(props.of.rows).map((rows, i) => <Chunk {...props} rows={rows} offset={i * chunkRows} key={i}>{(changed, first) => <>
        {rows.map((r, k) => <Card {...props} r={r} ago={ago} changed={changed?.get(r.value)} first={k ? undefined : first} key={r.value} />)}
      </>}</Chunk>)}
    </div>
  );
}

function Card({ first, ...props }: One & { first: preact.Ref<HTMLElement> | undefined }) {
  const { of, r, changed } = props;
  return (
    <section class="card" ref={first} aria-label={text(r.value || "none", 60)}>
      <p class="head"><Choose {...props} /><Name {...props} /><b>{amount(of, r.total)}</b></p>
      <Spark line={r.line ?? []} />
      <p class="changes">{of.sides.map((s, i) => <span key={s.ago}><Change {...props} ago={s.ago} before={r.before[i]!} /> in {spoken[s.ago]}</span>)}</p>
      {changed && <p class="function"><Function c={changed} /></p>}
    </section>
  );
}

function Choose({ r, chosen, toggle }: One) {
  return <input type="checkbox" aria-label={"compare " + text(r.value || "none", 60)} checked={chosen.includes(r.value)} onChange={() => toggle(r.value)} />;
}

function Name({ page: { state, go }, of, r }: One) {
  return <button type="button" class="link go" title={text(r.value)} onClick={() => go({ ...fresh, v: "flame", q: narrowed(state.q, of.label, r.value), by: "" })}>{r.value ? text(r.value, 120) : "none"}</button>;
}

// Share is the part of all, as a bar.
function Share({ part, of }: { part: number; of: number }) {
  return <span class="bar" title={percent(part, of) + " of all"}><i style={{ width: Math.max(0, Math.min(100, (100 * part) / (of || 1))) + "%" }} /></span>;
}

// Change is the way to the difference that it is of.
function Change({ page: { state, go }, of, r, ago, before }: One & { before: number }) {
  const d = r.total - before;
  return (
    <button type="button" class={"link " + (d > 0 ? "grew" : d < 0 ? "shrank" : "")} title={`${amount(of, before)} → ${amount(of, r.total)}: show what changed in ${spoken[ago]}`} onClick={() => go(since(state, narrowed(state.q, of.label, r.value), ago))}>
      {change(before, r.total)} <small>{d ? (d > 0 ? "+" : "−") + amount(of, Math.abs(d)) : ""}</small>
    </button>
  );
}

function Function({ c }: { c: Changed | undefined }) {
  if (!c) return null;
  const [before, after] = c.flat.map((v, i) => v / c.of[i]!) as [number, number];
  return percent(before, 1) === percent(after, 1) ? null : <span title={`${text(c.name)}: ${percent(before, 1)} → ${percent(after, 1)} of all, in this function itself`}><small class={after > before ? "grew" : "shrank"}>{percent(before, 1)} → {percent(after, 1)}</small> <code>{text(split(c.name)[1], 60)}</code></span>;
}
