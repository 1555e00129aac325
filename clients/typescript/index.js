// The client of the API of k8s-cli.

/** @typedef {import("./api.js").components["schemas"]} Schemas the types of the API by their names */
/** @typedef {import("./client.js").Task} Task */
/** @typedef {import("./client.js").Item} Item */
/** @typedef {import("./client.js").TaskStatus} TaskStatus */
/** @typedef {import("./client.js").Submitted} Submitted */
/** @typedef {import("./client.js").Phase} Phase */
/** @typedef {import("./events.js").TaskEvent} TaskEvent */
/** @typedef {import("./events.js").GroupStatus} GroupStatus */
/** @typedef {Schemas["Row"]} Row */
/** @typedef {Schemas["Node"]} Node */
/** @typedef {Schemas["Attempt"]} Attempt */
/** @typedef {Schemas["Output"]} Output */
/** @typedef {Schemas["Preview"]} Preview */
/** @typedef {Schemas["Summary"]} Summary */
/** @typedef {Schemas["Capacity"]} Capacity */
/** @typedef {Schemas["UsageReport"]} UsageReport */
/** @typedef {Schemas["Whoami"]} Whoami */
/** @typedef {Schemas["Volume"]} Volume */
/** @typedef {Schemas["VolumeStatus"]} VolumeStatus */
/** @typedef {import("./requests.js").ClientOptions} ClientOptions */
/** @typedef {import("./client.js").SubmitOptions} SubmitOptions */
/** @typedef {import("./client.js").BatchOptions} BatchOptions */
/** @typedef {import("./client.js").ChainOptions} ChainOptions */
/** @typedef {import("./client.js").JobGroupOptions} JobGroupOptions */
/** @typedef {import("./client.js").Filters} Filters */
/** @typedef {import("./client.js").StopFilters} StopFilters */
/** @typedef {import("./client.js").WaitOptions} WaitOptions */
/** @typedef {import("./logs.js").LogOptions} LogOptions */
/** @typedef {import("./client.js").Grid} Grid */
/** @template Point @typedef {import("./client.js").Sweep<Point>} Sweep */

export { Client, grid } from "./client.js";
export { ApiError } from "./errors.js";
export { EventStream } from "./events.js";
