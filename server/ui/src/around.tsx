// The callers and callees of one function below the graph, a row each: summed by the server, so that no cut tree hides some.

import { useEffect, useMemo, useRef } from "preact/hooks";
import { useAnswer } from "./answer";
import type { Flame } from "./api";
import { change, percent, split, text, value } from "./format";
import { functionName } from "./frames";
import { Panel } from "./message";
import { lit, question, reading, type Page } from "./page";
import { Tree } from "./tree";

let next = ""; // list that gets the focus when its rows are there

// showAround opens the rows of a function, or goes on to another one, and moves the focus to a list.
export function showAround({ state, go }: Page, name: string, list = "callers") {
  next = list;
  if (state.near !== name) go({ near: name });
  else document.querySelector<HTMLElement>(".around button.link")?.focus();
}

export function Around({ page }: { page: Page }) {
  const { state, go } = page, params = { ...question(state), ...reading(state), function: state.near, max_nodes: 4000 };
  const answer = useAnswer(state.t && state.near ? JSON.stringify([page.loadKey, params]) : null, (signal) => page.load.ask<Flame>("flame", params, signal));
  const place = useRef<HTMLElement>(null), of = answer.isDone ? answer.data : undefined;
  useEffect(() => {
    if (!of || !next) return;
    const first = place.current!.querySelector<HTMLElement>(`.${next} .link`) ?? place.current!.querySelector<HTMLElement>(".calls .link") ?? place.current!.querySelector<HTMLElement>("button");
    next = "";
    first?.focus();
  }, [of]);
  useEffect(() => () => lit.set(""), [state.near]);
  if (!state.near) return null;
  const close = () => { go({ near: "" }); document.querySelector<HTMLElement>("[role=tree]")?.focus(); };
  return (
    <section class="around" aria-label={"callers and callees of " + text(state.near, 100)} ref={place} onKeyDown={(e) => walk(e, close)}>
      <div class="tools">
        <h2 title={text(state.near)} onPointerEnter={() => lit.set(state.near)} onPointerLeave={() => lit.set("")}>{text(state.near, 500)}</h2>
        <span class="around-sum">{of && sums(of).map((v, side) => `${value(v, of.unit)}, ${percent(v, of.total[side]!)} of all`).join(" → ")}</span>
        <span class="grow" />
        <button type="button" onClick={() => go({ v: "sandwich", fn: state.near })}>sandwich</button>
        <button type="button" onClick={() => go({ v: "source", fn: functionName(state.near, state.gran) })}>lines</button>
        <button type="button" class="quiet" aria-label="close callers and callees" title="close  (Esc)" onClick={close}>✕</button>
      </div>
      <Panel of={answer}>{(data) => <Both page={page} of={data} />}</Panel>
    </section>
  );
}

const sums = (of: Flame) => of.callees!.self.map((side) => side.reduce((a, b) => a + b, 0));

// walk moves over the rows of a list, and to the other list.
function walk(e: KeyboardEvent, close: () => void) {
  const at = (e.target as Element).closest(".calls"), all = [...(at?.querySelectorAll<HTMLElement>(".link") ?? [])], i = all.indexOf(e.target as HTMLElement);
  const other = { ArrowLeft: ".callers .link", ArrowRight: ".callees .link" }[e.key];
  if (e.key === "Escape") close();
  else if (e.key === "u" || e.key === "Backspace") { next = at?.classList.contains("callees") ? "callees" : "callers"; history.back(); }
  else if (other) (e.currentTarget as Element).querySelector<HTMLElement>(other)?.focus();
  else if (e.key === "ArrowDown" || e.key === "ArrowUp") all[i + (e.key === "ArrowDown" ? 1 : -1)]?.focus();
  else return;
  e.preventDefault();
  e.stopPropagation();
}

function Both({ page, of }: { page: Page; of: Flame }) {
  const callers = useMemo(() => new Tree(of.callers!), [of]), callees = useMemo(() => new Tree(of.callees!), [of]);
  if (!sums(of).some(Boolean)) return <p class="none">No stack has <code>{text(page.state.near, 200)}</code>.</p>;
  return (
    <div class="both">
      <Calls page={page} of={callers} list="callers" own="no caller" />
      <Calls page={page} of={callees} list="callees" own="its own" />
    </div>
  );
}

// Calls is one list: the frames next to the function, the largest first, and the part that has none.
function Calls({ page, of, list, own }: { page: Page; of: Tree; list: string; own: string }) {
  const last = of.sides - 1, larger = (v: number[]) => Math.max(...v.map(Math.abs)), whole = of.total[last]![0]!;
  const rows = [0, ...of.children(0)].map((n) => ({ n, v: of.total.map((side, i) => (n ? side[n]! : of.self(0, i))) })).filter(({ v }) => larger(v)).sort((p, q) => larger(q.v) - larger(p.v));
  return (
    <div class={"calls table-scroll " + list}>
      <table class="top">
        <thead><tr><th scope="col">{list}</th><th scope="col" class="n">total</th><th scope="col" class="n">{last ? "change" : "of it"}</th></tr></thead>
        <tbody>{rows.map(({ n, v }, i) => <tr key={n}><td>{n && !of.isOther(n) ? <Name page={page} name={of.name(n)} list={list} isFirst={i === rows.findIndex((r) => r.n)} /> : <span class="muted">{n ? "other: smaller ones" : own}</span>}</td><td class="n">{value(v[last]!, page.unit)}</td><td class="n">{last ? change(v[0]!, v[1]!) : percent(v[0]!, whole)}</td></tr>)}</tbody>
      </table>
    </div>
  );
}

function Name({ page, name, list, isFirst }: { page: Page; name: string; list: string; isFirst: boolean }) {
  const [folder, rest] = split(name), show = () => lit.set(name), hide = () => lit.set("");
  return (
    <span class="name" title={text(name)} onPointerEnter={show} onPointerLeave={hide}>
      <button type="button" class="link" tabIndex={isFirst ? 0 : -1} onFocus={show} onBlur={hide} onClick={() => showAround(page, name, list)}><span class="folder">{text(folder, 200)}</span><span class="rest"><bdi>{text(rest, 200)}</bdi></span></button>
    </span>
  );
}
