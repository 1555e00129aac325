export { ApiError } from "./errors.js";
export { EventStream } from "./events.js";
export { Client, grid } from "./client.js";
