// The field of the selector, with completion of labels and values.

import { useEffect, useRef, useState } from "preact/hooks";
import { querier } from "./api";
import { text } from "./format";
import { labelRange, type Page } from "./page";

// Wanted is what can be completed at a place of a selector: names, or the values of a label.
interface Wanted { label: string | null; prefix: string; start: number; isOpen: boolean }

// wanted looks at the text before the caret.
export function wanted(before: string): Wanted | null {
  const value = /(?:^|[{,])\s*("(?:[^"\\]|\\.)*"|[^\s="'{},!~]+)\s*(?:=|!=)\s*("?)([^",}]*)$/.exec(before);
  if (value) return { label: value[1]!.replace(/^"|"$/g, ""), prefix: value[3]!, start: before.length - value[3]!.length - value[2]!.length, isOpen: true };
  const name = /(?:^|[{,])\s*([^\s="'{},!~]*)$/.exec(before);
  return name && { label: null, prefix: name[1]!, start: before.length - name[1]!.length, isOpen: before.includes("{") };
}

// complete puts a choice into a selector, and returns it with the place of the caret.
export function complete(all: string, caret: number, w: Wanted, choice: string): [string, number] {
  const rest = all.slice(caret);
  const isPlain = /^[a-zA-Z_]\w*$/.test(choice);
  let put = w.label === null ? (w.isOpen ? "" : "{") + (isPlain ? choice : JSON.stringify(choice)) + '="' : JSON.stringify(choice);
  if (w.label !== null && !rest.trim()) put += "}";
  const head = all.slice(0, w.start) + put;
  return [head + rest.replace(/^"/, ""), head.length];
}

export function SelectorField({ page }: { page: Page }) {
  const [typed, set] = useState(page.state.q);
  const [choices, setChoices] = useState<string[]>([]);
  const [active, setActive] = useState(-1);
  const field = useRef<HTMLInputElement>(null);
  const asked = useRef<AbortController>(null);
  useEffect(() => set(page.state.q), [page.state.q]);
  const close = () => { asked.current?.abort(); setChoices([]); setActive(-1); };
  const ask = async () => {
    const w = field.current && wanted(field.current.value.slice(0, field.current.selectionStart ?? 0));
    asked.current?.abort();
    if (!w || !page.range.newest) return close();
    const abort = (asked.current = new AbortController());
    try {
      const of = labelRange(page), method = w.label === null ? "LabelNames" : "LabelValues";
      const { names = [] } = await querier<{ names?: string[] }>(method, w.label === null ? of : { ...of, name: w.label }, abort.signal);
      if (abort.signal.aborted) return;
      setChoices(names.filter((n) => n.includes(w.prefix) && (!n.startsWith("__") || w.prefix.startsWith("_"))).slice(0, 50));
      setActive(-1);
    } catch { /* without completion the field still works */ }
  };
  const choose = (choice: string) => {
    const input = field.current!, caret = input.selectionStart ?? input.value.length, w = wanted(input.value.slice(0, caret));
    if (!w) return;
    const [next, at] = complete(input.value, caret, w, choice);
    set(next);
    close();
    requestAnimationFrame(() => { input.setSelectionRange(at, at); if (w.label === null) void ask(); });
  };
  const key = (e: KeyboardEvent) => {
    if (e.key === "ArrowDown" || e.key === "ArrowUp") {
      e.preventDefault();
      if (!choices.length) return void ask();
      setActive((active + (e.key === "ArrowDown" ? 1 : -1) + choices.length) % choices.length);
    } else if (e.key === "Enter") {
      e.preventDefault();
      if (choices[active] !== undefined) return choose(choices[active]!);
      close();
      page.go({ q: typed.trim() });
    } else if (e.key === "Escape") close();
  };
  return (
    <span class="field selector">
      <input ref={field} type="text" role="combobox" aria-label="selector" aria-expanded={choices.length > 0} aria-controls="choices" aria-autocomplete="list"
        aria-activedescendant={active >= 0 ? "choice-" + active : undefined} value={typed} title={typed} placeholder={'{service_name="shop"}'} spellcheck={false} autocomplete="off"
        onInput={(e) => { set(e.currentTarget.value); void ask(); }} onKeyDown={key} onFocus={() => void ask()}
        onBlur={() => { close(); if (typed.trim() !== page.state.q) page.go({ q: typed.trim() }); }} />
      <ul id="choices" role="listbox" aria-label="completions" hidden={!choices.length}>
        {choices.map((c, i) => (
          <li role="option" id={"choice-" + i} key={c} aria-selected={i === active} onPointerDown={(e) => { e.preventDefault(); choose(c); }}>{text(c, 120)}</li>
        ))}
      </ul>
    </span>
  );
}
