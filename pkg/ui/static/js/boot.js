// Says so if a file of the page could not be loaded, and loads the page again. This file imports
// nothing, so it works when other files are missing.
const limit = 12_000, pause = 3000;

setTimeout(() => {
  const app = document.getElementById("app");
  if (!app || app.firstChild) return;
  app.textContent = "A file of the page could not be loaded. The page tries again.";
  setTimeout(() => location.reload(), pause);
}, limit);

export {};
