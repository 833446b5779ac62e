// A text to copy, where the browser does not let the page do it: over plain HTTP by the name of a host.

import { useEffect, useRef } from "preact/hooks";
import { uncopied } from "./page";

export function CopyField() {
  const [what, ...rest] = uncopied.use().split("\n"), dialog = useRef<HTMLDialogElement>(null), field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    if (!what) return;
    dialog.current?.showModal();
    field.current?.select();
  }, [what, rest.join()]);
  if (!what) return null;
  return (
    <dialog ref={dialog} class="help copy-field" aria-label={"copy " + what} onClose={() => uncopied.set("")} onClick={(e) => { if (e.target === dialog.current) dialog.current?.close(); }}>
      <label for="copy-field">The browser does not let the page copy here. Press Ctrl+C, or ⌘C, to copy {what}:</label>
      <textarea id="copy-field" ref={field} readOnly autofocus rows={4} value={rest.join("\n")} onFocus={(e) => e.currentTarget.select()} />
      <p class="tools"><span class="grow" /><button type="button" onClick={() => dialog.current?.close()}>close</button></p>
    </dialog>
  );
}
