// Texts for elsewhere.

import { spoken } from "./page";

// copy puts a text on the clipboard and says so.
export async function copy(what: string, text: string) {
  try {
    await navigator.clipboard.writeText(text);
    spoken.say(what + " is copied");
  } catch {
    spoken.say("the browser does not let the page copy");
  }
}
