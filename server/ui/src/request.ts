// Requests to the server. Addresses are relative, so that the page works below any path.

// Params are the parameters of a question; empty ones are not sent.
export type Params = Record<string, string | number | undefined>;

// link returns the address of a question.
export function link(path: string, params: Params): string {
  const of = new URLSearchParams();
  for (const [name, v] of Object.entries(params)) if (v) of.set(name, String(v));
  return path + (of.size ? "?" + of : "");
}

let token = sessionStorage.getItem("token") ?? "";

// setToken keeps the token of later questions for this tab of the browser.
export function setToken(t: string) { sessionStorage.setItem("token", token = t); }

// hasToken reports whether requests have a token: a link sends none.
export const hasToken = () => token !== "";

// request sends a request, with the token if there is one.
export function request(address: string, init: RequestInit): Promise<Response> {
  const headers = new Headers(init.headers);
  if (token) headers.set("Authorization", "Bearer " + token);
  return fetch(address, { ...init, headers });
}

// Sooner is a question whose answer is taken later, by another script of the page.
interface Sooner { address: string; abort: AbortController; answer: Promise<Response> }
declare global { interface Window { sooner?: Sooner } }

// askSooner asks GET path for a question that is going to be asked, before it is known whether it is. taken takes that answer.
export function askSooner(path: string, params: Params) {
  const address = link(path, params), abort = new AbortController();
  window.sooner = { address, abort, answer: request(address, { signal: abort.signal }) };
  window.sooner.answer.catch(() => undefined); // whoever takes it says so
}

// taken returns the answer to a question that was asked sooner, once.
export function taken(address: string, signal?: AbortSignal | null): Promise<Response> | undefined {
  const early = window.sooner;
  if (early?.address !== address) return undefined;
  window.sooner = undefined;
  signal?.addEventListener("abort", () => early.abort.abort());
  return early.answer;
}
