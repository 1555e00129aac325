const session = await (await fetch("/session")).json();
document.querySelector("#app").textContent = session.user ? `Logged in as ${session.user}` : "Not logged in";
