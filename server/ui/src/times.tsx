// The range of time: two fields, and what can be chosen instead of typing.

import { useEffect, useId, useRef, useState } from "preact/hooks";
import { inZone, zone } from "./format";
import { useOutside } from "./events";
import type { Page } from "./page";
import { days, trouble } from "./timetext";
import { Buttons, Toggle } from "./tools";
import { defaults, end, parseAgo, readTime, resolve, shownTime } from "./url";

const spans = ["5m", "15m", "1h", "3h", "6h", "12h", "24h", "2d", "7d", "30d"];

// Times are two fields: a duration before the newest profile, as latest-1h, one before now, as -1h, or a time.
export function Times({ page }: { page: Page }) {
  const { state, go, range } = page;
  const order = (from: string, to: string) => (resolve(from, range) < resolve(to, range) ? "" : "There is no time between from and to.");
  return (
    <span class="field times" role="group" aria-label="range of time">
      <TimeField label="from" value={state.from} go={(from) => go({ from: from || defaults.from })} check={(from) => order(from || defaults.from, end({ ...state, from: from || defaults.from }))} />
      <span aria-hidden="true">–</span>
      <TimeField label="to" value={state.to} go={(to) => go({ to })} placeholder={end({ ...state, to: "" }) === "now" ? "now" : "newest"} check={(to) => order(state.from, end({ ...state, to }))} />
      <Choice page={page} />
      <Toggle isOn={state.utc === "1"} set={(on) => go({ utc: on ? "1" : "" }, true)} what="UTC" />
      <datalist id="spans">{spans.flatMap((d) => ["latest-" + d, "-" + d]).map((s) => <option value={s} key={s} />)}</datalist>
    </span>
  );
}

// TimeField keeps what is typed until it is a time. What is none it says below, with what is one.
export function TimeField({ label, value, go, placeholder, check }: { label: string; value: string; go: (v: string) => void; placeholder?: string; check?: (v: string) => string }) {
  const [typed, set] = useState(shownTime(value)), [error, setError] = useState(""), id = useId();
  useEffect(() => { set(shownTime(value)); setError(""); }, [value, zone.isUTC]);
  const enter = (raw: string) => {
    const text = raw.trim(), time = readTime(text), wrong = trouble(text) || (check?.(time) ?? "");
    setError(wrong);
    if (!wrong) go(time);
  };
  return (
    <span class="time-field">
      <input type="text" aria-label={label} list="spans" size={Math.min(20, Math.max(8, typed.length + 1))} value={typed} placeholder={placeholder} spellcheck={false}
        aria-invalid={error !== ""} aria-describedby={error ? id : undefined} onInput={(e) => { set(e.currentTarget.value); setError(""); }} onChange={(e) => enter(e.currentTarget.value)} />
      {error && <span class="field-error" id={id} role="alert">{error}</span>}
    </span>
  );
}

// Choice are presets and a calendar, in a box that Escape and a click elsewhere close.
function Choice({ page: { state, go, range } }: { page: Page }) {
  const [isOpen, open] = useState(false), place = useRef<HTMLSpanElement>(null), button = useRef<HTMLButtonElement>(null);
  const [base, setBase] = useState<"latest" | "now">("latest");
  useEffect(() => {
    if (isOpen) place.current?.querySelector<HTMLElement>(".choices button")?.focus();
  }, [isOpen]);
  useOutside(isOpen, place, () => open(false));
  const close = () => { open(false); button.current?.focus(); };
  const choose = (from: string, to = "") => { go({ from, to }); close(); };
  return (
    <span class="menu-place" ref={place} onKeyDown={(e) => { if (e.key === "Escape" && isOpen) { e.stopPropagation(); close(); } }}>
      <button type="button" ref={button} aria-haspopup="dialog" aria-expanded={isOpen} aria-label="choose times" title="choose times" onClick={() => { setBase(parseAgo(end(state))?.base ?? "latest"); open(!isOpen); }}>▾</button>
      {isOpen && (
        <div class="menu choices" role="dialog" aria-label="choose times">
          <span class="choice-row muted">the last {spans.map((s) => <button type="button" key={s} onClick={() => choose((base === "latest" ? "latest-" : "-") + s)}>{s}</button>)}</span>
          <span class="choice-row muted">before <Buttons label="times count from" of={[["latest", "the newest profile"], ["now", "now"]]} value={base} set={(b) => setBase(b as "latest" | "now")} /></span>
          <span class="choice-row">{days(range.now).map(([name, from, to]) => <button type="button" key={name} onClick={() => choose(from, to)}>{name}</button>)}</span>
          <Calendar from={range.from} to={range.to} choose={choose} />
        </div>
      )}
    </span>
  );
}

// Calendar are two times of the zone, for which the browser has calendars.
function Calendar({ from, to, choose }: { from: number; to: number; choose: (from: string, to: string) => void }) {
  const [first, setFirst] = useState(inZone(from).slice(0, 19)), [last, setLast] = useState(inZone(Math.ceil(to / 1000) * 1000).slice(0, 19)), [error, setError] = useState("");
  const apply = (e: Event) => {
    e.preventDefault();
    if (!first || !last) return setError("Choose both times.");
    if (first >= last) return setError("There is no time between them.");
    choose(readTime(first), readTime(last));
  };
  return (
    <form class="calendar" onSubmit={apply} noValidate>
      <label>from <input type="datetime-local" step="1" value={first} onInput={(e) => { setFirst(e.currentTarget.value); setError(""); }} /></label>
      <label>to <input type="datetime-local" step="1" value={last} onInput={(e) => { setLast(e.currentTarget.value); setError(""); }} /></label>
      <button type="submit">choose {zone.isUTC ? "(UTC)" : "(local time)"}</button>
      {error && <p class="wrong" role="alert">{error}</p>}
    </form>
  );
}
