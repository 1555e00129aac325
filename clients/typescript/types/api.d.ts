export * from "../api.js";
