// The view of the single profiles of a selection.

import { useEffect } from "preact/hooks";
import { useAnswer } from "./answer";
import type { Dot, Profiles } from "./api";
import { Empty } from "./empty";
import { clock, text, value } from "./format";
import { Panel } from "./message";
import { readBy, type Page } from "./page";
import { link } from "./request";
import { useRows } from "./table";

export function ProfilesView({ page }: { page: Page }) {
  const { state: s } = page, [rows, more] = useRows();
  const params = { t: s.t, q: s.q, from: s.from, to: s.to, rows };
  const answer = useAnswer(s.t ? JSON.stringify([page.loadKey, params]) : null, (signal) => page.load.ask<Profiles>("profiles", params, signal));
  useEffect(() => readBy(answer.data), [answer.data]);
  return (
    <Panel of={answer}>
      {(data) => !data.profiles.length ? <Empty.Nothing page={page} /> : (
        <div class="table-scroll whole" tabIndex={0} role="region" aria-label="profiles">
          <table class="list">
            <thead><tr><th scope="col">time</th><th scope="col" class="n">duration</th><th scope="col" class="n">total</th><th scope="col" class="n">rows</th><th scope="col">labels</th><th scope="col">file</th></tr></thead>
            <tbody>{data.profiles.toReversed().map((p) => <ProfileRow page={page} p={p} unit={data.unit} key={p.time + p.selector} />)}</tbody>
          </table>
          {data.all > data.profiles.length && <button type="button" class="more" onClick={more}>{(data.all - data.profiles.length).toLocaleString("en")} more</button>}
        </div>
      )}
    </Panel>
  );
}

function ProfileRow({ page: { state, go }, p, unit }: { page: Page; p: Dot; unit: string }) {
  return (
    <tr>
      <td><button type="button" class="link" title="the flame graph of this profile" onClick={() => go({ v: "flame", q: p.selector, from: p.time, to: p.until, z: "" })}>{clock(Date.parse(p.time))}</button></td>
      <td class="n">{p.duration ? value(p.duration, "nanoseconds") : ""}</td>
      <td class="n">{value(p.total, unit)}</td>
      <td class="n">{p.rows.toLocaleString("en")}</td>
      <td class="labels">{Object.entries(p.labels).filter(([n]) => !n.startsWith("__")).map(([n, v]) => <span class="label" key={n}>{text(n, 60)}=<b>{text(v, 80)}</b></span>)}</td>
      <td><a href={link("pprof", { type: state.t, selector: p.selector, from: p.time, to: p.until })} download="profile.pb.gz">pprof</a></td>
    </tr>
  );
}
