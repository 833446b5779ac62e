import { render } from "preact";
import { askSooner } from "./api";
import { App } from "./app";
import { asked } from "./flameview";
import { parse } from "./url";

const state = parse(location.search);
// The question of a link to a flame graph needs nothing of what the page asks first.
if (state.t.includes(":") && ["", "flame"].includes(state.v)) askSooner("api/v1/flame", asked(state));

render(<App />, document.getElementById("page")!);
