// Files that are opened in the page: dropped on it, or chosen. The server keeps them below view/ID/, with this page.

import { useEffect, useRef, useState } from "preact/hooks";
import { useAnswer } from "./answer";
import { post, type StoreState } from "./api";
import { on } from "./events";
import { text, value } from "./format";
import { Failed } from "./message";

// root is the path of the server itself, whatever this page is about.
const root = () => location.pathname.replace(/(?:(?:older|view)\/[^/]+|self)\/$/, "");

const isOpened = /\/view\/[^/]+\/$/.test(location.pathname); // this page is about files

// useDrop takes files that are dropped anywhere on the page.
export function useDrop(take: (files: File[]) => void) {
  useEffect(() => {
    const over = (e: DragEvent) => { if (e.dataTransfer?.types.includes("Files")) { e.preventDefault(); document.body.classList.toggle("dropping", e.type === "dragover"); } };
    const leave = (e: DragEvent) => { if (!e.relatedTarget) document.body.classList.remove("dropping"); };
    const drop = (e: DragEvent) => { over(e); if (e.dataTransfer?.files.length) take([...e.dataTransfer.files]); };
    return on(window, { dragover: over, dragleave: leave, drop });
  }, []);
}

interface Opened { path: string; refused?: string[] }

const refusedKey = (path: string) => "refused " + path;

// OpenFiles is the dialog that sends files. Two of them can be the sides of a difference. Other first files are another
// dialog, with a key of its own: an effect that took them would be late, and undo a press that came before it.
export function OpenFiles({ first, close }: { first: File[]; close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [files, set] = useState(first);
  const [asked, ask] = useState({ n: 0, isOn: false, hasSides: false });
  useEffect(() => dialog.current?.showModal(), []);
  const answer = useAnswer<Opened>(asked.isOn ? String(asked.n) : null, async (signal) => {
    const body = new FormData();
    files.forEach((f, i) => {
      body.append("modified", String(f.lastModified));
      body.append(asked.hasSides ? (i ? "after" : "before") : "file", f, f.name);
    });
    const opened = await post<Opened>(root() + "view", body, signal);
    const path = root() + opened.path;
    if (opened.refused) sessionStorage.setItem(refusedKey(path.split("?")[0]!), opened.refused.join("\n"));
    location.assign(path);
    return opened;
  });
  const start = (hasSides: boolean) => ask({ n: asked.n + 1, isOn: true, hasSides });
  const isBusy = asked.isOn && !(answer.isDone && answer.error), isPair = files.length === 2;
  return (
    <dialog ref={dialog} class="help files" aria-labelledby="files-title" onClose={close} onClick={(e) => { if (e.target === dialog.current) dialog.current?.close(); }}>
      <h2 id="files-title">Open files</h2>
      <p>Profiles of any format, and traces of Go, Chrome or Perfetto. The server keeps them in memory, beside its own data, until half an hour after the last look. Drop them here, or choose:</p>
      <input type="file" multiple aria-label="files" disabled={isBusy} onChange={(e) => { set([...(e.currentTarget.files ?? [])]); ask({ ...asked, isOn: false }); }} />
      {files.length > 0 && <ol>{files.map((f, i) => <li key={i}>{isPair && <small>{i ? "after" : "before"}</small>} <b>{text(f.name, 100)}</b> <small>{value(f.size, "bytes")}</small></li>)}</ol>}
      {asked.isOn && answer.isDone && (answer.error && [0, 401, 403].includes(answer.error.status) ? <Failed of={answer} /> : <p class="refused" role="alert">{text(answer.error?.message ?? "", 1000)}</p>)}
      <p class="tools" role="group" aria-label="open">
        {isPair && <button type="button" disabled={isBusy} onClick={() => start(true)}>compare them</button>}
        {isPair && <button type="button" disabled={isBusy} onClick={() => set([files[1]!, files[0]!])}>swap</button>}
        <button type="button" disabled={isBusy || !files.length} onClick={() => start(false)}>{isPair ? "open together" : "open"}</button>
        <span class="grow" role="status">{isBusy ? "The server reads them." : ""}</span>
        <button type="button" onClick={() => dialog.current?.close()}>close</button>
      </p>
    </dialog>
  );
}

// OpenedNote names the files that the page is about, and the files that are left out.
export function OpenedNote({ store }: { store: StoreState | undefined }) {
  if (!isOpened) return null;
  const names = store?.files ?? [], refused = sessionStorage.getItem(refusedKey(location.pathname));
  return (
    <>
      <p class="note">{names.length ? <>Files: {text(names.join(", "), 300)}. They are closed half an hour after the last look.</> : "Files that were opened."} <a href={root()}>back to the server</a></p>
      {refused && <p class="banner" role="status">Left out: {text(refused.replaceAll("\n", "; "), 1000)}</p>}
    </>
  );
}
