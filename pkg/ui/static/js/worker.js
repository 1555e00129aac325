// The worker that the tabs of a browser share.
import { Hub } from "./hub.js";

const hub = new Hub();
/** @type {any} */ (self).onconnect = (/** @type {MessageEvent} */ e) => hub.add(e.ports[0]);
