// The client of the API of k8s-cli.

export { Client, grid } from "./client.js";
export { ApiError } from "./errors.js";
export { EventStream } from "./events.js";
