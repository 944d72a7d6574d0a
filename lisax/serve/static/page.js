"use strict";
// The page works without this: it adds a sign of life while waiting, clicks on cells, and progress without reloading.

const ask = document.getElementById("ask");
ask?.addEventListener("submit", () => { document.getElementById("working").hidden = false; });
window.addEventListener("pageshow", () => { if (ask) document.getElementById("working").hidden = true; });

for (const fields of document.querySelectorAll("[data-cells]")) {
  const map = document.getElementById(fields.dataset.cells);
  map.querySelector("table").addEventListener("click", (event) => {
    const place = event.target.closest("td")?.id.match(/-r(\d+)c(\d+)$/);
    if (!place) return;
    fields.querySelector("[name=row]").value = Number(place[1]) + 1;
    fields.querySelector("[name=column]").value = Number(place[2]) + 1;
    map.querySelector(".chosen")?.classList.remove("chosen");
    event.target.closest("td").classList.add("chosen");
  });
}

const training = document.querySelector("[data-training=running]");
async function follow() {
  const response = await fetch("/training/progress");
  if (!response.ok) return setTimeout(follow, 5000);
  const html = new DOMParser().parseFromString(await response.text(), "text/html");
  const fresh = html.querySelector("[data-training]");
  if (fresh.dataset.training !== "running") return location.reload();
  document.querySelector("[data-training]").replaceWith(fresh);
  setTimeout(follow, 1500);
}
if (training) setTimeout(follow, 1500);
