// Filters, searches and pages the list of claims. Without it the whole list shows.
(() => {
  const list = document.getElementById("claim-list");
  if (!list) return;
  const page = 50;
  const form = document.getElementById("filters");
  const more = document.getElementById("more");
  const count = document.getElementById("count");
  const none = document.getElementById("none");
  const items = [...list.children];
  const fold = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  let texts = null;  // folded text of each claim and its evidence, made at the first search
  let shown = page;

  const matching = () => {
    const chosen = new FormData(form);
    const words = fold(chosen.get("words") || "").split(/\s+/).filter(Boolean);
    if (words.length && !texts) texts = items.map((item) => fold(item.textContent));
    const wanted = ["gold", "predicted", "outcome", "kind"].filter((name) => chosen.get(name));
    return items.filter((item, i) => wanted.every((name) => item.dataset[name] === chosen.get(name))
      && words.every((word) => texts[i].includes(word)));
  };

  const apply = () => {
    const found = matching();
    const visible = new Set(found.slice(0, shown));
    for (const item of items) item.hidden = !visible.has(item);
    const left = found.length - visible.size;
    more.hidden = left <= 0;
    more.textContent = `Show ${Math.min(page, left)} more of ${left.toLocaleString("en")}`;
    none.hidden = found.length > 0;
    count.textContent = `${found.length.toLocaleString("en")} of ${items.length.toLocaleString("en")} claims`;
  };

  const restart = () => { shown = page; apply(); };
  let waiting = 0;
  form.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(restart, 120); });
  form.addEventListener("submit", (event) => event.preventDefault());
  more.addEventListener("click", () => {
    const first = items.filter((item) => !item.hidden).length;
    shown += page;
    apply();
    items.filter((item) => !item.hidden)[first]?.querySelector("summary").focus({ preventScroll: true });
  });
  for (const link of document.querySelectorAll(".confusion a")) {
    link.addEventListener("click", () => {
      form.reset();
      form.elements.gold.value = link.dataset.gold;
      form.elements.predicted.value = link.dataset.predicted;
      restart();
    });
  }
  form.hidden = false;
  apply();
})();
