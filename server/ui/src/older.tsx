// Profiles that the server has no more. Those of a range are below older/FROM--TO/, with this page, once they are read.

import { useState } from "preact/hooks";
import { useAnswer } from "./answer";
import { lines, type StoreState } from "./api";
import { clock, count as n } from "./format";
import { Failed, Message } from "./message";
import { fixed, type Page, type Range } from "./page";
import { defaults, end, isDifference, parse, print, resolve, resolved, stamp } from "./url";

type Span = Pick<Range, "from" | "to">;

// here is the range of the profiles below this page's path, null for the server's present profiles.
export const here: Span | null = (() => {
  const [, from, to] = /\/older\/([^/]+)--([^/]+)\/$/.exec(decodeURIComponent(location.pathname)) ?? [];
  return from && to ? { from: Date.parse(from), to: Date.parse(to) } : null;
})();

// needed is the range of all that the page shows. Its end is exclusive.
function needed({ state, range }: Page): Span {
  const times = [state.from, end(state)];
  if (isDifference(state)) times.push(state.bfrom || state.from, state.bto || end(state));
  const all = times.map((t) => resolve(t, range));
  return { from: Math.floor(Math.min(...all)), to: Math.ceil(Math.max(...all)) + 1 };
}

const named = ({ from, to }: Span) => `${clock(from)} to ${clock(to)}`;

// A reading costs, so it begins by a click: on a link, which leaves a wish for the page that it opens, or on a button there.
const wish = "older";
const make = (e: MouseEvent) => sessionStorage.setItem(wish, (e.currentTarget as HTMLAnchorElement).pathname);

let isWished = sessionStorage.getItem(wish) === location.pathname; // of this page, until it has begun, or was not needed
sessionStorage.removeItem(wish);

// Older says which profiles are seen if they are older ones, and leads to the profiles that are not here.
export function Older({ page: now, store }: { page: Page; store: StoreState | undefined }) {
  if (!here && !store?.older) return null;
  const range = resolved(now.state, { newest: now.range.newest || now.range.now, now: now.range.now });
  const want = needed({ ...now, range }), own = parse(location.search); // without what is the default among the profiles here
  const link = (folder: string, text: string) => <a href={`${folder}${stamp(want.from)}--${stamp(want.to)}/${print(fixed(own, range))}`} onClick={make}>{text}</a>;
  if (here) {
    if (store) isWished = false;
    const isWithin = want.from >= here.from && want.to - 1 <= here.to;
    return (
      <p class="note">Older profiles, of {named(here)}. {!isWithin && link("../", `read those of ${named(want)}`)} <a href={"../../" + print({ ...own, from: defaults.from, to: "", bfrom: "", bto: "" })}>back to the newest</a></p>
    );
  }
  const oldest = store!.oldest ? Date.parse(store!.oldest) : 0;
  if (oldest && want.from >= oldest) return null;
  return <p class="note">{oldest ? `Here are the profiles from ${clock(oldest)} on.` : "There are no profiles here."} Older ones can be read: {link("older/", named(want))}</p>;
}

interface Line { read: number; of: number; done?: boolean; error?: string }

// Reading reads the profiles of this page's path, and says how far that is.
export function Reading({ done }: { done: () => void }) {
  const [line, set] = useState<Line>({ read: 0, of: 0 });
  const [tries, setTries] = useState(Number(isWished));
  isWished = false;
  const answer = useAnswer<null>(tries ? "read" + tries : null, async (signal) => {
    let last: Line = { read: 0, of: 0 };
    await lines<Line>("read", (l) => set(last = l), signal);
    if (!last.done) throw new Error(last.error ?? "The server ended before all was read.");
    done();
    return null;
  });
  const again = () => setTries(tries + 1);
  if (!tries) return <Message><p>The profiles of {named(here!)} are not in the memory of the server.</p><p><button type="button" onClick={again}>read them</button> <a href="../../">back to the newest</a></p></Message>;
  if (answer.error && answer.isDone) return <Failed of={{ ...answer, retry: again }} />;
  return (
    <div class="message">
      <p role="status">Reading the profiles of {named(here!)}.</p>
      <progress aria-label="rows that are read" {...(line.of ? { value: line.read, max: line.of } : {})} />
      <p>{line.read ? n(line.read) + (line.of ? ` of at most ${n(line.of)}` : "") + " rows" : "It begins."}</p>
    </div>
  );
}
