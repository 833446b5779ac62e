// What a table and a graph show each other.

import { Signal } from "./signal";

// lit is the function of the row that is pointed at: its frames are lit.
export const lit = new Signal("");

// inView is the function of the frame that the graph is zoomed to.
export const inView = { name: "" };
