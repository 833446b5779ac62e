// The list of keys.

import { useEffect, useRef } from "preact/hooks";
import { single } from "./panels";

const keys: [string, string][] = [
  ["arrows", "walk over the frames"], ["Enter", "zoom to the frame"], ["Backspace", "out by one frame"], ["Esc", "out to all"],
  ["+  −", "wider, narrower frames"], ["Shift arrows", "move what is seen"],
  ["/", "search"], ["n  N", "next and previous hit"], ["f", "only stacks with the frame"], ["h", "hide frames of that name"],
  ["a", "callers and callees below the graph"], ["s", "sandwich of them"], ["l", "lines of source"], ["i", "invert: callers below callees"], ["d", "difference with the time before"], ["c", "copy the stack"],
  ["o", "left-heavy, or by name"], ["[  ]", "an earlier, a later range"], ["u", "undo"], ["m", "in the states: what ran meanwhile"], ["1  2  3", "fold chart, states, table"], ["?", "this list"],
];

export function Help({ close }: { close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} class="help" aria-label="keys" onClose={close} onClick={(e) => { if (e.target === dialog.current) dialog.current?.close(); }}>
      <h2>Keys, while a graph has the focus</h2>
      <dl>{keys.map(([key, what]) => <div key={key}><dt><kbd>{key}</kbd></dt><dd>{what}</dd></div>)}</dl>
      <p>A click zooms, a click on a frame above goes out, two clicks show all, a right click has more. The wheel scrolls, and with Ctrl (or if there is nothing to scroll) makes frames wider or narrower; a drag, or the wheel with Shift, moves them. Drag over the chart to choose a range; with its focus + and − make it shorter and longer. In the states the arrows walk from state to state, and a click or Enter chooses a span. In the timeline they walk from frame to frame, and Enter chooses the time of one. Marks on the chart compare before and after. Among services the arrows walk over the names, and Enter goes in.</p>
      <p><label class="check"><input type="checkbox" checked={single.use() === "1"} onChange={(e) => single.set(e.currentTarget.checked ? "1" : "0")} /> / and 1 2 3 work everywhere, not in a graph alone</label></p>
      <button type="button" autofocus onClick={() => dialog.current?.close()}>close</button>
    </dialog>
  );
}
