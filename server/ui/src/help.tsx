// The list of keys.

import { useEffect, useRef } from "preact/hooks";

const keys: [string, string][] = [
  ["arrows", "walk over the frames"], ["Enter", "zoom to the frame"], ["Backspace", "out by one frame"], ["Esc", "out to all"],
  ["/", "search"], ["n  N", "next and previous hit"], ["f", "only stacks with the frame"], ["h", "hide frames of that name"],
  ["s", "sandwich: callers and callees"], ["l", "lines of source"], ["i", "invert: callers below callees"], ["d", "difference with the time before"], ["c", "copy the stack"],
  ["o", "order by name or by size"], ["+  −", "a shorter, a longer range"], ["[  ]", "an earlier, a later range"], ["u", "undo"], ["m", "in the states: what ran meanwhile"], ["?", "this list"],
];

export function Help({ close }: { close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} class="help" aria-label="keys" onClose={close} onClick={(e) => { if (e.target === dialog.current) dialog.current?.close(); }}>
      <h2>Keys, while a graph has the focus</h2>
      <dl>{keys.map(([key, what]) => <div key={key}><dt><kbd>{key}</kbd></dt><dd>{what}</dd></div>)}</dl>
      <p>A click zooms, a click on a frame above goes out, a right click has more. Drag over the chart to choose a range. In the states the arrows walk from state to state, and a click or Enter chooses a span. In the timeline they walk from frame to frame, and Enter chooses the time of one. Marks on the chart compare before and after. Among services the arrows walk over the names, and Enter goes in.</p>
      <button type="button" autofocus onClick={() => dialog.current?.close()}>close</button>
    </dialog>
  );
}
