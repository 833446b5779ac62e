// The first script of the page, which runs before the other one is read. It asks the question of a link to a flame graph.

import { asked } from "./question";
import { askSooner } from "./request";
import { parse } from "./url";

const state = parse(location.search);
if (state.t.includes(":") && ["", "flame"].includes(state.v)) askSooner("api/v1/flame", asked(state));
