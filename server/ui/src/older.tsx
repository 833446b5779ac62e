// Profiles that the server has no more. Those of a range are below older/FROM--TO/, with this page, once they are read.

import { useState } from "preact/hooks";
import { useAnswer } from "./answer";
import { lines, type StoreState } from "./api";
import { clock } from "./format";
import { Failed, Message } from "./message";
import type { Page, Range } from "./page";
import { isDifference, parse, print, resolve, stamp, type State } from "./url";

type Span = Pick<Range, "from" | "to">;

// here is the range of the profiles below this page's path, null for those that the server has.
export const here: Span | null = (() => {
  const [, from, to] = /\/older\/([^/]+)--([^/]+)\/$/.exec(decodeURIComponent(location.pathname)) ?? [];
  return from && to ? { from: Date.parse(from), to: Date.parse(to) } : null;
})();

// needed is the range of all that the page shows.
function needed({ state, range }: Page): Span {
  const newest = range.newest || Date.now(), sides = [[state.from, state.to]];
  if (isDifference(state)) sides.push([state.bfrom, state.bto]);
  const times = sides.flat().map((t) => resolve(t!, newest));
  return { from: Math.floor(Math.min(...times)), to: Math.ceil(Math.max(...times)) + 1 };
}

const named = ({ from, to }: Span) => `${clock(from)} to ${clock(to)}`;

// fixed returns the address' own state, without what is the default among the profiles here, with its times as absolute ones.
function fixed(newest: number): State {
  const s = parse(location.search), at = (t: string) => stamp(resolve(t, newest)), before = s.bfrom || s.bto ? { bfrom: at(s.bfrom), bto: at(s.bto) } : {};
  return { ...s, from: at(s.from), to: at(s.to), ...before, live: "" };
}

// Older says which profiles are seen if they are older ones, and leads to those that are not here.
export function Older({ page, store }: { page: Page; store: StoreState | undefined }) {
  if (!here && !store?.older) return null;
  const want = needed(page), address = (folder: string) => `${folder}${stamp(want.from)}--${stamp(want.to)}/${print(fixed(page.range.newest || Date.now()))}`;
  if (here) {
    const isWithin = want.from >= here.from && want.to <= here.to;
    return (
      <p class="note">Older profiles, of {named(here)}. {!isWithin && <a href={address("../")}>read those of {named(want)}</a>} <a href={"../../" + print({ ...parse(location.search), from: "-1h", to: "", bfrom: "", bto: "" })}>back to the newest</a></p>
    );
  }
  const oldest = store!.oldest ? Date.parse(store!.oldest) : 0;
  if (oldest && want.from >= oldest) return null;
  return <p class="note">{oldest ? `Here are the profiles from ${clock(oldest)} on.` : "There are no profiles here."} Older ones can be read: <a href={address("older/")}>{named(want)}</a></p>;
}

interface Line { read: number; of: number; done?: boolean; error?: string }

// Reading reads the profiles of this page's path, and says how far that is.
export function Reading({ done }: { done: () => void }) {
  const [line, set] = useState<Line>({ read: 0, of: 0 });
  const [tries, setTries] = useState(0);
  const answer = useAnswer<null>("read" + tries, async (signal) => {
    let last: Line = { read: 0, of: 0 };
    await lines<Line>("read", (l) => set(last = l), signal);
    if (!last.done) throw new Error(last.error ?? "The server ended before all was read.");
    done();
    return null;
  });
  if (answer.error && answer.isDone) return <Failed of={{ ...answer, retry: () => setTries(tries + 1) }} />;
  const n = (x: number) => x.toLocaleString("en");
  return (
    <Message>
      <p>Reading the profiles of {named(here!)}.</p>
      <progress aria-label="rows that are read" {...(line.of ? { value: line.read, max: line.of } : {})} />
      <p>{line.of ? `${n(line.read)} of at most ${n(line.of)} rows` : "It begins."}</p>
    </Message>
  );
}
