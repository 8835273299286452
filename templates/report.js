"use strict";
const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const shown = (element) => { element.hidden = false; return element; };
const save = (name, blob) => {
  const link = document.createElement("a");
  link.download = name;
  link.href = URL.createObjectURL(blob);
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
};

for (const button of all("button.copy")) {
  shown(button).setAttribute("aria-live", "polite");
  button.addEventListener("click", async () => {
    const code = button.parentElement.querySelector("code");
    try {
      await navigator.clipboard.writeText(button.dataset.copy ?? code.textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(code);
      button.textContent = "Selected: press Ctrl+C";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });
}

const theme = shown(document.getElementById("theme"));
theme.addEventListener("click", () => {
  const dark = document.documentElement.dataset.theme
    ? document.documentElement.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "light" : "dark";
});

let tabs = 0;
for (const box of all(".tabs")) {
  const panels = [...box.children];
  if (panels.length < 2) continue;
  const list = document.createElement("div");
  list.className = "tablist";
  list.setAttribute("role", "tablist");
  const buttons = panels.map((panel) => {
    const button = document.createElement("button");
    button.type = "button";
    button.id = `tab-${tabs += 1}`;
    button.textContent = panel.firstElementChild.textContent;
    button.setAttribute("role", "tab");
    panel.id = `panel-${tabs}`;
    panel.setAttribute("role", "tabpanel");
    panel.setAttribute("aria-labelledby", button.id);
    button.setAttribute("aria-controls", panel.id);
    list.append(button);
    return button;
  });
  const choose = (chosen) => buttons.forEach((button, index) => {
    button.setAttribute("aria-selected", index === chosen);
    button.tabIndex = index === chosen ? 0 : -1;
    panels[index].hidden = index !== chosen;
  });
  list.addEventListener("click", (event) => {
    const index = buttons.indexOf(event.target);
    if (index >= 0) choose(index);
  });
  list.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const index = (buttons.indexOf(event.target) + step + buttons.length) % buttons.length;
    choose(index);
    buttons[index].focus();
  });
  box.prepend(list);
  box.classList.add("tabbed");
  choose(0);
}

const find = shown(document.getElementById("find"));
const told = document.querySelector(".filter");
const filter = () => {
  const words = find.value.trim().toLowerCase();
  const items = all("[data-find]");
  let left = 0;
  for (const item of items) {
    item.hidden = !item.textContent.toLowerCase().includes(words);
    left += !item.hidden;
  }
  told.hidden = !words;
  told.textContent = `${left} of ${items.length} cards and rows have “${find.value.trim()}”. Empty the search to see all.`;
  if (words) all("details.rest").forEach((rest) => { rest.open = true; });
};
find.addEventListener("input", filter);
for (const link of all("[data-filter]")) {
  link.addEventListener("click", (event) => {
    event.preventDefault();  // To follow the link would take the focus away.
    find.value = find.value === link.dataset.filter ? "" : link.dataset.filter;
    filter();
    if (find.value) document.getElementById("compiles").scrollIntoView();
  });
}

const value = (row, column) => {
  const cell = row.cells[column];
  return cell.dataset.value === undefined ? cell.textContent.trim() : Number(cell.dataset.value);
};
for (const table of all("table.data")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") !== "descending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const rows = [...table.tBodies[0].rows].sort((a, b) => {
        const [x, y] = [value(a, column), value(b, column)];
        const order = typeof x === "number" ? x - y : x.localeCompare(y);
        return down ? -order : order;
      });
      table.tBodies[0].append(...rows);
    });
  });
}
for (const button of all("button.csv")) {
  shown(button).addEventListener("click", () => {
    const section = button.closest("section");
    const table = section.querySelector("table");
    const cells = (row) => [...row.cells].map((cell) => cell.dataset.value ?? cell.innerText.trim());
    const rows = [...table.rows].filter((row) => !row.hidden).map(cells);
    // A spreadsheet would run what begins like a formula.
    const quoted = (text) => `"${text.replace(/^[=+\-@\t\r]/, "'$&").replaceAll('"', '""')}"`;
    save(`${section.id}.csv`, new Blob([rows.map((row) => row.map(quoted).join(",") + "\r\n").join("")], { type: "text/csv" }));
  });
}

for (const box of all(".zoom")) {
  all("button", box).forEach(shown);
  const picture = box.parentElement.querySelector(".scroll > svg");
  let scale = 1;
  box.addEventListener("click", (event) => {
    if (!event.target.dataset.zoom) return;
    scale = Math.min(64, Math.max(1, scale * Number(event.target.dataset.zoom)));
    picture.style.width = `${100 * scale}%`;
  });
}

const opened = () => {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let outer = target; outer; outer = outer.parentElement) if (outer.localName === "details") outer.open = true;
  if (target) target.scrollIntoView();
};
addEventListener("hashchange", opened);
opened();

const download = document.getElementById("download");
if (download && "DecompressionStream" in window) {
  download.addEventListener("click", async (event) => {
    event.preventDefault();
    const bytes = Uint8Array.from(atob(download.href.split(",")[1]), (letter) => letter.charCodeAt(0));
    const text = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    save("pgo-advisor.json", await new Response(text).blob());
  });
}
