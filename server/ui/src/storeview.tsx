// The view of the store: its budgets, what it has, what is gone.

import { useEffect, useRef } from "preact/hooks";
import { useAnswer } from "./answer";
import { get, type StoreState } from "./api";
import { clock, count, percent, value } from "./format";
import { Why } from "./inspect";
import { Panel } from "./message";
import { readBy, type Page } from "./page";

export function StoreView({ page }: { page: Page }) {
  const answer = useAnswer(page.loadKey, (signal) => get<StoreState>("api/v1/store", {}, signal));
  useEffect(() => readBy(answer.data), [answer.data]);
  return <Panel of={answer}>{(s) => <div class="cards"><Memory s={s} /><Disk s={s} /><Has s={s} /><Gone s={s} />{s.self && <Own path={s.self} />}<Why page={page} /></div>}</Panel>;
}

// Own leads to what the server knows of itself.
const Own = ({ path }: { path: string }) => <section class="card" aria-label="this server"><h2>this server</h2><p><a href={path}>its own profiles, and what its goroutines do</a></p></section>;

const bytes = (n: number) => value(n, "bytes");
type Fact = [name: string, value: string];

function Card({ title, facts, children }: { title: string; facts: Fact[]; children?: preact.ComponentChildren }) {
  return (
    <section class="card" aria-label={title}>
      <h2>{title}</h2>
      {children}
      <dl>{facts.map(([name, v]) => <div key={name}><dt>{name}</dt><dd>{v}</dd></div>)}</dl>
    </section>
  );
}

// Bar is the part of a budget that is used.
function Bar({ used, budget }: { used: number; budget: number }) {
  const place = useRef<HTMLElement>(null);
  useEffect(() => { if (place.current) place.current.style.width = Math.min(100, budget ? (100 * used) / budget : 0) + "%"; });
  return <p class="budget"><b>{bytes(used)}</b> {budget ? `of ${bytes(budget)}, ${percent(used, budget)}` : "without a budget"}<span class="bar" aria-hidden="true"><i ref={place} /></span></p>;
}

const memoryNames: Record<string, string> = {
  parts: "rows", series: "series", stacks: "stacks", records: "records", histories: "histories", cache: "cache of files", pinned: "pinned by snapshots alone", pending: "in commits",
};

function Memory({ s }: { s: StoreState }) {
  const facts = Object.entries(memoryNames).filter(([k]) => s.memory[k]).map(([k, name]): Fact => [name, bytes(s.memory[k]!)]);
  return <Card title="memory" facts={facts}><Bar used={s.memory.bytes!} budget={s.memory.budget!} /></Card>;
}

function Disk({ s: { disk } }: { s: StoreState }) {
  if (!disk.files && !disk.log && !disk.budget) return <Card title="disk" facts={[]}><p>The store is in memory alone.</p></Card>;
  return (
    <Card title="disk" facts={[["files", bytes(disk.files)], ["log", bytes(disk.log)]]}>
      <Bar used={disk.files + disk.log} budget={disk.budget} />
      {disk.failed && <p role="alert">Files cannot be written.</p>}
    </Card>
  );
}

function Has({ s }: { s: StoreState }) {
  const at = (t?: string) => (t ? clock(Date.parse(t)) : "none");
  return (
    <Card title="profiles" facts={[
      ["oldest", at(s.oldest)], ["newest", at(s.newest)], ["rows", count(s.rows)], ["of these in files alone", count(s.cold_rows)],
      ["series", count(s.series)], ["stacks", count(s.stacks)], ["granules", count(s.granules)], ["parts", count(s.parts)],
    ]} />
  );
}

function Gone({ s }: { s: StoreState }) {
  const { gone } = s, isAny = Object.values(gone).some(Boolean);
  const facts: Fact[] = isAny ? [
    ["rows evicted for memory", count(gone.evicted_rows!)], ["rows dropped by age or for disk", count(gone.dropped_rows!)],
    ["of these for disk", count(gone.disk_rows!)], ["bytes of histories evicted", bytes(gone.evicted_states!)], ["snapshots taken back", count(gone.snapshots!)],
  ] : [];
  return <Card title="gone" facts={facts}><p>{s.floor ? `All before ${clock(Date.parse(s.floor))} is gone.` : isAny ? "" : "Nothing was evicted or dropped."}</p></Card>;
}
