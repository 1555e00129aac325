export { ApiError } from "./errors.js";
export { EventStream } from "./events.js";
/**
 * the types of the API by their names
 */
export type Schemas = import("./api.js").components["schemas"];
export type Task = import("./client.js").Task;
export type Item = import("./client.js").Item;
export type TaskStatus = import("./client.js").TaskStatus;
export type Submitted = import("./client.js").Submitted;
export type Phase = import("./client.js").Phase;
export type TaskEvent = import("./events.js").TaskEvent;
export type GroupStatus = import("./events.js").GroupStatus;
export type Row = Schemas["Row"];
export type Node = Schemas["Node"];
export type Attempt = Schemas["Attempt"];
export type Output = Schemas["Output"];
export type Preview = Schemas["Preview"];
export type Summary = Schemas["Summary"];
export type Capacity = Schemas["Capacity"];
export type UsageReport = Schemas["UsageReport"];
export type Whoami = Schemas["Whoami"];
export type Volume = Schemas["Volume"];
export type VolumeStatus = Schemas["VolumeStatus"];
export type ClientOptions = import("./requests.js").ClientOptions;
export type SubmitOptions = import("./client.js").SubmitOptions;
export type BatchOptions = import("./client.js").BatchOptions;
export type ChainOptions = import("./client.js").ChainOptions;
export type JobGroupOptions = import("./client.js").JobGroupOptions;
export type Filters = import("./client.js").Filters;
export type StopFilters = import("./client.js").StopFilters;
export type WaitOptions = import("./client.js").WaitOptions;
export type LogOptions = import("./logs.js").LogOptions;
export type Grid = import("./client.js").Grid;
export type Sweep<Point> = import("./client.js").Sweep<Point>;
export { Client, grid } from "./client.js";
