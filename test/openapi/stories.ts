// Stories of a user, with clients that are generated from the description of the server.
import createClient from "openapi-fetch";
import type {components, paths} from "./build/types";
import {createClient as createHey} from "./build/hey/client";
import {getTask, listTasks, submitTask, stopTask} from "./build/hey";

const headers = {"X-User": "ann@example.com"};
const must = (ok: boolean, what: unknown) => { if (!ok) throw new Error(JSON.stringify(what)); };
const client = (url: string) => createClient<paths>({baseUrl: url, headers});

async function submit(url: string): Promise<string> {
  const {data, error} = await client(url).POST("/tasks/submit", {body: {name: "story", resources: {cpus: 1, memory: "1Gi"}, envs: {EPOCHS: 3}, run: "echo hello"}});
  if (!data) throw new Error(error.detail);
  return data.task_id;
}

export const stories: Record<string, (url: string) => Promise<void>> = {
  async health(url) { const {data} = await client(url).GET("/"); must(data?.status === "ok", data); },
  async whoami(url) { const {data} = await client(url).GET("/whoami"); must(data?.user === "ann@example.com", data); },
  async submitAndShow(url) {
    const id = await submit(url);
    const {data, response} = await client(url).GET("/tasks/{id}", {params: {path: {id}}});
    must(data?.metadata.num_nodes === 1 && response.headers.get("ETag") !== null, data);
  },
  async list(url) {
    const id = await submit(url);
    const {data} = await client(url).GET("/tasks", {params: {query: {status: ["pending", "running"], limit: 5}}});
    must(!!data?.tasks.some((t) => "task_id" in t && t.task_id === id), data);
  },
  async spec(url) {
    const {data} = await client(url).GET("/tasks/{id}/spec", {params: {path: {id: await submit(url)}}});
    must(data?.run === "echo hello", data);
  },
  async unknownTask(url) {
    const {error} = await client(url).GET("/tasks/{id}", {params: {path: {id: "nothere1"}}});
    must(error?.reason === "TaskNotFound", error);
  },
  async invalidField(url) {
    const {error} = await client(url).POST("/tasks/submit", {body: {run: "true", resources: {cpus: "abc"}}});
    must(error?.reason === "Invalid" && error.field === "resources.cpus", error);
  },
  async unknownFieldIsNoType(url) {
    // @ts-expect-error: the type has no such field
    const body: components["schemas"]["Task"] = {run: "true", nmae: "x"};
    const {error} = await client(url).POST("/tasks/submit", {body});
    must(error?.reason === "UnknownField" && error.field === "nmae", error);
  },
  async volumes(url) {
    const {data} = await client(url).POST("/volumes/create", {body: {name: "stories", size: "1Gi", access_modes: ["ReadWriteOncePod"]}});
    must(data?.status === "created", data);
    const {data: gone} = await client(url).DELETE("/volumes/{id}", {params: {path: {id: data!.volume_id}}});
    must(gone?.status === "deleted", gone);
  },
  async events(url) {
    const {data} = await client(url).GET("/tasks/{id}/events", {params: {path: {id: await submit(url)}}});
    must(typeof data === "object" && data.events[0]?.type === "phase", data);
  },
  async heyAPI(url) {
    const hey = createHey({baseUrl: url, headers});
    const {data} = await submitTask({client: hey, body: {name: "hey", run: "true"}});
    const id = data!.task_id;
    must((await getTask({client: hey, path: {id}})).data?.name === "hey", id);
    must(!!(await listTasks({client: hey})).data?.tasks.length, id);
    must((await stopTask({client: hey, path: {id}})).data?.status === "stopped", id);
  },
};
