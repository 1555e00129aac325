// A TCP proxy that ends each connection after the server has sent a number of bytes.
import { connect, createServer } from "node:net";

export class BreakingProxy {
  /** @param {string} url @param {number[]} cuts the number of bytes of each connection in turn; later connections do not break */
  constructor(url, cuts) {
    this.breaks = 0;
    this.retarget(url);
    this.listener = createServer((near) => {
      const far = connect(this.target);
      let left = cuts.length ? /** @type {number} */ (cuts.shift()) : Infinity;
      near.on("error", () => {}).on("close", () => far.destroy());
      far.on("error", () => {}).on("close", () => near.destroy());
      near.pipe(far);
      far.on("data", (data) => {
        near.write(data.subarray(0, Math.min(left, data.length)));
        if ((left -= data.length) <= 0) { this.breaks++; left = Infinity; near.end(); far.destroy(); }
      });
    });
  }

  async open() {
    await new Promise((resolve) => this.listener.listen(0, "127.0.0.1", () => resolve(undefined)));
    this.url = `http://127.0.0.1:${/** @type {import("node:net").AddressInfo} */ (this.listener.address()).port}`;
    return this;
  }

  /** Leads later connections to another server. @param {string} url */
  retarget(url) {
    const { hostname, port } = new URL(url);
    this.target = { host: hostname, port: Number(port) };
  }

  close() { this.listener.close(); }
}
