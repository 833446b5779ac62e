// Questions to the server, and their answers.

import { afterFrame } from "./canvas";
import { hasToken, link, request, taken, type Params } from "./request";
import { missing, spoken } from "./signal";
import type { Columns } from "./tree";

// Head is a part of each answer of /api/v1.
export interface Head {
  commit: number;
  touched: { granules: number; parts: number; rows: number; chosen: number };
}

// Typed is what an answer says about its values, by side: of a difference before and after.
export interface Typed {
  sample_type: string;
  unit: string;
  mean: boolean;
  total: number[];
  magnitude: number[];
  found?: number[];
  profiles?: number[]; // of a difference: times of profiles of each side
  covered?: number[]; // and the nanoseconds that they stand for
  scaled?: number; // factor of the side before
  states?: Choice; // of a choice by state
}

// Choice is what was chosen from, by side: all samples, and those without a state.
export interface Choice { all: number[]; without: number[]; lengths: Lengths }

// Lengths are nanoseconds: of the longest profile, and of a state on average. coarse says that profiles are longer.
export interface Lengths { profile: number; state: number; coarse: boolean }

export interface Flame extends Head, Typed {
  tree?: Columns;
  callers?: Columns;
  callees?: Columns;
  shares?: Group[]; // what the groups of the trees are
}

// Group is the samples of one state, without one for a reason (its status), or of others.
export interface Group { status: string; state?: string; total: number; others?: number }

export interface Row { name: string; file?: string; line?: number; binary?: string; flat: number[]; cum: number[]; p?: number[] }
export interface Top extends Head, Typed { all: number; matching: number; functions: Row[]; says?: string }

export interface Dot { time: string; until: string; duration: number; total: number; rows: number; labels: Record<string, string>; selector: string }
export interface Profiles extends Head { sample_type: string; unit: string; all: number; profiles: Dot[]; counts?: number[]; counts_from?: string; counts_to?: string }

export interface Changed { name: string; flat: [number, number]; of: [number, number] }
export interface Service { value: string; total: number; before: number[]; series: number; newest?: string; line?: (number | null)[]; changed?: Changed }
export interface Services extends Head {
  sample_type: string; unit: string; mean: boolean; label: string; from?: string; to?: string; start?: string; step: number; points: number;
  sides: { ago: string; from: string; to: string }[];
  total: number; all: number; matching: number; rows: Service[];
}
// Series is a line over time, with the labels that it is of. The least value is left out.
export interface Series { labels?: { name: string; value: string }[]; points?: { value?: number; timestamp: string }[] }

// SourceLine is a line of a function, with its values by side.
export interface SourceLine { file: string; line: number; self: number[]; total: number[] }

export interface Lines extends Head, Typed { all: number; lines: SourceLine[]; texts?: { file: string; first: number; lines?: string[]; why?: string }[] }

export interface StoreState extends Head {
  tenant?: string; oldest?: string; newest?: string; floor?: string; older?: boolean; self?: string; files?: string[];
  rows: number; cold_rows: number; series: number; stacks: number; granules: number; parts: number;
  memory: Record<string, number>;
  disk: { budget: number; files: number; log: number; failed: boolean };
  gone: Record<string, number>;
}

// Refusal is an answer that is an error: the server's sentence. Its status is 0 if the server did not answer.
export class Refusal extends Error {
  constructor(readonly status: number, message: string) { super(message); }
}

let isFirst = true; // the next answer is the first one of a load: it says anew which nodes are missing

async function send(address: string, init: RequestInit): Promise<Response> {
  let answer: Response;
  try {
    answer = await (taken(address, init.signal) ?? request(address, init));
  } catch (e) {
    if ((e as Error).name === "AbortError") throw e;
    throw new Refusal(0, "The server does not answer.");
  }
  if (answer.ok) {
    const lacks = (answer.headers.get("Granary-Warning") ?? "").split(/, (?=node )/), all = [...(isFirst ? [] : missing.value.split("\n")), ...lacks];
    isFirst = false;
    missing.set([...new Map(all.filter(Boolean).map((w) => [w.split(": ")[0], w])).values()].join("\n"));
    return answer;
  }
  if (answer.status === 409) dispatchEvent(new Event("unread")); // older profiles that the server has not read, or no more
  let message = (await answer.text()).trim();
  try { message = (JSON.parse(message) as { message?: string }).message ?? message; } catch { /* it is a sentence */ }
  throw new Refusal(answer.status, message || answer.statusText || "status " + answer.status);
}

// get asks GET path.
export const get = async <T,>(path: string, params: Params, signal?: AbortSignal) => (await send(link(path, params), { signal })).json() as Promise<T>;

// saveAs saves a file that the page has.
export function saveAs(blob: Blob, name: string) {
  const a = document.createElement("a");
  a.href = URL.createObjectURL(blob);
  a.download = name;
  a.click();
  setTimeout(() => URL.revokeObjectURL(a.href), 1000);
}

// saveWithToken saves what a path answers, if the page has a token.
export function saveWithToken(path: string): boolean {
  if (!hasToken()) return false;
  void send(path, {}).then(async (answer) => {
    const name = /filename="?([^";]+)/.exec(answer.headers.get("Content-Disposition") ?? "")?.[1];
    saveAs(await answer.blob(), name ?? "granary.json");
  }, (e: Refusal) => spoken.set(e.message));
  return true;
}

// post sends a form to POST path.
export const post = async <T,>(path: string, body: FormData, signal: AbortSignal) => (await send(path, { method: "POST", body, signal })).json() as Promise<T>;

// lines asks POST path, and hands over each line of the answer, which is JSON.
export async function lines<T>(path: string, each: (line: T) => void, signal: AbortSignal) {
  const from = (await send(path, { method: "POST", signal })).body!.pipeThrough(new TextDecoderStream()).getReader();
  for (let rest = ""; ;) {
    const { value, done } = await from.read();
    if (done) return;
    const whole = (rest + value).split("\n");
    rest = whole.pop()!;
    for (const line of whole) each(JSON.parse(line) as T);
  }
}

// querier asks a method of querier.v1, which Grafana asks too. Times are milliseconds, whole numbers strings.
export async function querier<T>(method: string, body: object, signal?: AbortSignal): Promise<T> {
  const init = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body), signal };
  return (await send("querier.v1.QuerierService/" + method, init)).json() as Promise<T>;
}

// Load is one look at the store: all of its answers are of the commit of the first one.
export class Load {
  private first: Promise<Head> | null = null;
  commit = 0;
  constructor() { isFirst = true; }

  // ask asks GET api/v1/name. A commit that the server holds no more is asked for once more, without it.
  async ask<T extends Head>(name: string, params: Params, signal?: AbortSignal): Promise<T> {
    const path = "api/v1/" + name;
    if (!this.first) return this.begin(get<T>(path, params, signal));
    try { await this.first; } catch { /* whoever asked says so */ }
    if (!this.first) return this.begin(get<T>(path, params, signal));
    if (!this.commit) return get<T>(path, params, signal); // a front has none
    try {
      return await get<T>(path, { ...params, commit: this.commit }, signal);
    } catch (e) {
      if ((e as Refusal).status !== 410) throw e;
      return this.begin(get<T>(path, params, signal));
    }
  }

  // askLater is ask for what is not to be the first question, if there is another one at the same time.
  async askLater<T extends Head>(name: string, params: Params, signal?: AbortSignal): Promise<T> {
    await this.afterFirst(signal);
    return this.ask<T>(name, params, signal);
  }

  // afterFirst waits until the first answer of a load is drawn, or some milliseconds: for what is not to take its processors.
  async afterFirst(signal?: AbortSignal, most?: number) {
    await new Promise((done) => setTimeout(done));
    try { await Promise.race([this.first?.then(afterFrame), ...(most ? [new Promise((done) => setTimeout(done, most))] : [])]); } catch { /* whoever asked says so */ }
    signal?.throwIfAborted();
  }

  private async begin<T extends Head>(answer: Promise<T>): Promise<T> {
    this.first = answer;
    try {
      const a = await answer;
      this.commit = a.commit;
      return a;
    } catch (e) {
      if (this.first === answer) this.first = null;
      throw e;
    }
  }
}
