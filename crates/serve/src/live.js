// Shows a running measurement as it grows: the only program of these pages. What it puts in is the server's, escaped there.
"use strict";
const live = document.getElementById("live");
const events = new EventSource(`/runs/${live.dataset.run}/events`);
events.addEventListener("figures", (event) => {
  live.innerHTML = event.data;
});
events.addEventListener("end", () => {
  events.close();
  location.reload();
});
