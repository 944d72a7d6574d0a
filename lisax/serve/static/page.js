"use strict";
// The page works without this. It adds: answers step by step, Enter to ask, what was asked before (kept in this browser),
// best cells brought into view, clicks on cells, uploads with progress, and training without reloading.

const make = (tag, text, inside) => {
  const made = document.createElement(tag);
  made.textContent = text;
  inside?.append(made);
  return made;
};

// --- Asking -----------------------------------------------------------------------------------

const ask = document.getElementById("ask"), working = document.getElementById("working");

const STEPS = {
  found: (line) => `Found ${line.count} in ${line.titles.join(", ")}`,
  ranked: (line) => `Ranked ${line.count}`,
  sentence: (line) => `${line.done} of ${line.of}: ${line.label} ${line.share}`,
  verdict: (line) => `${line.label} ${line.share}`,
};

function tell(line) {
  if (!STEPS[line.step]) return;
  const item = make("li", line.count === 0 ? "Nothing found" : STEPS[line.step](line), working.querySelector("ol"));
  make("small", `${line.seconds.toFixed(2)} s`, item);
  for (const one of line.best ?? []) make("small", `${one.source}: ${one.text}`, item);
  if (line.text) make("small", line.text, item);
}

// Server-sent events, of one line of JSON each. Not EventSource, which cannot send a form.
async function* eventsOf(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    const lines = (rest + (value ?? "")).split("\n");
    rest = lines.pop();
    for (const line of lines) if (line.startsWith("data: ")) yield JSON.parse(line.slice(6));
    if (done) return;
  }
}

// The sentence of a page that says what is wrong, or of a refusal in plain text.
async function complaintOf(response) {
  const text = await response.text();
  const html = new DOMParser().parseFromString(text, "text/html");
  return html.querySelector("[role=alert]")?.textContent ?? text.slice(0, 500);
}

function complain(form, message) {
  form.querySelector("[role=alert]")?.remove();
  if (message) make("p", message, form).setAttribute("role", "alert");
}

ask?.addEventListener("submit", async (event) => {
  event.preventDefault();
  if (!working.hidden) return;
  working.querySelector("ol").replaceChildren();
  working.hidden = false;
  complain(ask);
  try {
    const response = await fetch("/ask/steps", { method: "POST", body: new FormData(ask) });
    if (!response.ok) throw new Error(await complaintOf(response));
    for await (const line of eventsOf(response)) {
      if (line.error) throw new Error(line.error.message);
      if (line.step === "answer") return location.assign(line.address);
      tell(line);
    }
    throw new Error("The answer did not arrive whole. Ask again.");
  } catch (error) {
    working.hidden = true;
    complain(ask, error.message);
  }
});
document.getElementById("text")?.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  ask.requestSubmit();
});
// A click on an example asks it; without this it fills in the form.
document.querySelector(".examples")?.addEventListener("click", (event) => {
  const link = event.target.closest("a");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  const { kind, corpus, text } = Object.fromEntries(new URL(link.href).searchParams);
  ask.elements.text.value = text;
  ask.elements.corpus.value = corpus;
  for (const one of ask.querySelectorAll("[name=kind]")) one.checked = one.value === kind;
  ask.scrollIntoView({ block: "nearest" });
  ask.requestSubmit();
});
// What ends in a question mark is a question, until somebody says what it is.
let said = false;
ask?.addEventListener("change", (event) => { said ||= event.target.name === "kind"; });
ask?.addEventListener("input", (event) => {
  if (said || event.target.id !== "text") return;
  const kind = ask.querySelector(`[value=${event.target.value.trim().endsWith("?") ? "question" : "claim"}]`);
  if (kind) kind.checked = true;
});
window.addEventListener("pageshow", () => { if (working) working.hidden = true; });

// --- What was asked before, in this browser alone -----------------------------------------------

const KEPT = "lisax-asked", MOST = 20;

function askedBefore() {
  try {
    const kept = JSON.parse(localStorage.getItem(KEPT) ?? "[]");
    return Array.isArray(kept) ? kept.filter((one) => /^\/answers\/[0-9a-f]+$/.test(one.address)) : [];
  } catch {
    return []; // what another page of this address has left there, or storage that is switched off
  }
}

function keep(asked) {
  try { localStorage.setItem(KEPT, JSON.stringify(asked.slice(0, MOST))); } catch { /* storage is switched off */ }
}

const { answer: address, kind } = document.getElementById("main").dataset;
if (address) {
  const text = document.getElementById("text")?.value ?? document.title;
  keep([{ address, kind, text }, ...askedBefore().filter((one) => one.text !== text || one.kind !== kind)]);
}

const asked = document.getElementById("asked");
if (asked && askedBefore().length) {
  for (const one of askedBefore()) {
    const item = make("li", "", asked.querySelector("ul"));
    make("a", String(one.text).slice(0, 200), item).href = one.address;
    item.append(" ");
    make("small", String(one.kind), item);
  }
  asked.hidden = false;
  asked.querySelector("button").addEventListener("click", () => { keep([]); asked.hidden = true; });
}

// --- Saving -----------------------------------------------------------------------------------

// Paper shows what is folded on the screen.
let folded = [];
window.addEventListener("beforeprint", () => {
  folded = [...document.querySelectorAll("main details:not([open])")];
  for (const one of folded) one.open = true;
});
window.addEventListener("afterprint", () => { for (const one of folded) one.open = false; });
const print = document.querySelector("[data-print]"), copy = document.querySelector("[data-copy]");
if (print) {
  print.hidden = false;
  print.addEventListener("click", () => window.print());
}
if (copy && navigator.clipboard) { // which pages without HTTPS, but for those of this machine, do not have
  copy.hidden = false;
  copy.addEventListener("click", async () => {
    const response = await fetch(copy.dataset.copy);
    await navigator.clipboard.writeText(await response.text());
    copy.textContent = "Copied";
  });
}

// --- Tables -----------------------------------------------------------------------------------

// Scrolls within the table alone: its best cell beside the columns that stay, in the middle of its height.
function bringIntoView(best) {
  const area = best.closest(".scroll"), row = best.closest("tr");
  const key = row.children[1]; // which stays where it is, as the row's number does
  area.scrollLeft = best === key || best === row ? 0 : best.offsetLeft - key.offsetLeft - key.offsetWidth - 8;
  area.scrollTop = row.offsetTop - (area.clientHeight - row.offsetHeight) / 2;
}
for (const best of document.querySelectorAll(".heatmap td.best, .whole #marked")) {
  bringIntoView(best);
  best.closest("details")?.addEventListener("toggle", () => bringIntoView(best));
}

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

// --- Uploads ----------------------------------------------------------------------------------

const upload = document.getElementById("upload"), sending = document.getElementById("sending");

// XMLHttpRequest, since fetch does not say how much has been sent. The form stays as it is: a refusal loses nothing.
function send(address) {
  const request = new XMLHttpRequest(), bar = sending.querySelector("progress"), said = sending.querySelector("span");
  return new Promise((resolve, reject) => {
    request.upload.addEventListener("progress", (event) => { if (event.lengthComputable) bar.value = event.loaded / event.total; });
    request.upload.addEventListener("load", () => { said.textContent = "Reading"; bar.removeAttribute("value"); });
    request.addEventListener("load", () => resolve(request));
    request.addEventListener("error", () => reject(new Error("The files did not arrive. Try again.")));
    said.textContent = "Sending";
    bar.value = 0;
    request.open("POST", address);
    request.send(new FormData(upload));
  });
}

async function sent(address, done) {
  if (!sending.hidden) return;
  complain(upload);
  sending.hidden = false;
  try {
    const request = await send(address);
    const html = new DOMParser().parseFromString(request.responseText, "text/html");
    if (request.status !== 200) throw new Error(html.querySelector("[role=alert]")?.textContent ?? request.responseText.slice(0, 500));
    done(request, html);
  } catch (error) {
    complain(upload, error.message);
  } finally {
    sending.hidden = true;
  }
}

if (upload) {
  upload.addEventListener("submit", (event) => {
    event.preventDefault();
    sent("/corpora", (request) => location.assign(request.responseURL));
  });
  const preview = document.getElementById("preview"), previewed = document.getElementById("previewed");
  const show = () => sent("/corpora/preview", (_, html) => previewed.replaceChildren(html.getElementById("seen")));
  preview.hidden = false;
  preview.addEventListener("click", show);
  for (const chosen of upload.querySelectorAll("[type=file]")) {
    chosen.addEventListener("change", () => {
      const name = document.getElementById("name"), file = chosen.files[0];
      if (!file) return;
      name.value ||= (file.webkitRelativePath.split("/")[0] || file.name.replace(/\.[^.]*$/, "")).slice(0, name.maxLength);
      show();
    });
  }
}

// --- Training ---------------------------------------------------------------------------------

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
