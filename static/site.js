// Small conveniences over htmx. Every page works without this file.
"use strict";

// A second click on an open row closes it instead of asking again.
document.addEventListener("htmx:before:request", (event) => {
  const link = event.target.closest?.("td.open a");
  const below = link?.closest("tr").nextElementSibling;
  if (below?.classList.contains("evidence")) {
    event.preventDefault();
    close_evidence(below);
  }
});

// At the first and last page the link that was pressed is none any more: the other one gets its place.
let turned = null;

document.addEventListener("htmx:before:swap", () => {
  turned = document.activeElement.closest(".pager a")?.rel ?? null;
});

// Rows are put in place of the old ones, not compared with them one by one: a thousand of them stay quick.
htmx.registerExtension("rows", {
  htmx_before_morph_node(old, { newNode }) {
    if (old.id !== "rows") return;
    const ticked = [...old.querySelectorAll('input[form="picks"]:checked')].map((box) => box.closest("tr").id);
    old.replaceChildren(...newNode.childNodes);
    for (const id of ticked) {
      const box = document.getElementById(id)?.querySelector('input[form="picks"]');
      if (box) box.checked = true;
    }
    htmx.process(old);
  },
});

document.addEventListener("htmx:after:swap", () => {
  if (!turned) return;
  (document.querySelector(`.pager a[rel="${turned}"]`) ?? document.querySelector(".pager a"))?.focus();
  turned = null;
});

// Rows are put in place of the old ones, not compared with them one by one: a thousand of them stay quick.
document.addEventListener("htmx:before:morph:node", (event) => {
  const { oldNode, newNode } = event.detail;
  if (oldNode.id !== "rows") return;
  const ticked = [...oldNode.querySelectorAll('input[form="picks"]:checked')].map((box) => box.closest("tr").id);
  oldNode.replaceChildren(...newNode.childNodes);
  for (const id of ticked) {
    const box = document.getElementById(id)?.querySelector('input[form="picks"]');
    if (box) box.checked = true;
  }
  htmx.process(oldNode);
});

document.addEventListener("htmx:after:swap", () => {
  for (const row of document.querySelectorAll("tr.evidence")) mark(row.previousElementSibling, true);
  count_picks();
  offer_views();
});

// With Shift a heading sorts after what is sorted by already: the same click, to its other address.
document.addEventListener(
  "click",
  (event) => {
    const link = event.shiftKey ? event.target.closest("thead a[data-add]") : null;
    if (!link) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    link.setAttribute("hx-get", link.dataset.add);
    link.href = link.dataset.add;
    link.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true }));
  },
  true,
);

document.addEventListener("click", (event) => {
  if (event.target.matches("button.close")) close_evidence(event.target.closest("tr.evidence"));
  if (event.target.matches("button.copy-row")) copy(event.target, row_text(event.target));
  if (event.target.matches("button.copy-text")) copy(event.target, event.target.previousElementSibling.textContent);
  if (event.target.matches("a.copy") && navigator.clipboard) {
    event.preventDefault();
    copy(event.target, event.target.href);
  }
  // A menu closes when something else is used.
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    if (!menu.contains(event.target)) menu.open = false;
  }
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  const menu = document.querySelector("details.menu[open]");
  if (menu) {
    menu.open = false;
    menu.querySelector("summary").focus();
  }
});

// The conditions stand in the table, outside the form that they belong to.
document.addEventListener("change", (event) => {
  if (event.target.matches(".where input")) event.target.form.requestSubmit();
  if (event.target.matches('input[form="picks"]')) count_picks();
});

function copy(button, text) {
  navigator.clipboard?.writeText(text).then(() => {
    button.classList.add("copied");
    setTimeout(() => button.classList.remove("copied"), 2000);
  });
}

// Two lines that a spreadsheet takes: the headings, and the cells of the row above the evidence.
function row_text(button) {
  const row = button.closest("tr.evidence").previousElementSibling;
  const heads = row.closest("table").querySelectorAll(":scope > thead > tr:first-child > th:not(.open)");
  const words = (cells) => [...cells].map((cell) => cell.innerText.replace(/\s+/g, " ").trim()).join("\t");
  return `${words(heads)}\n${words(row.querySelectorAll("td:not(.open)"))}`;
}

function mark(row, open) {
  const link = row?.querySelector("td.open a");
  if (!link) return;
  link.setAttribute("aria-expanded", String(open));
  link.textContent = open ? "\u2212" : "+";
}

function close_evidence(row) {
  const opener = row.previousElementSibling;
  mark(opener, false);
  row.remove();
  opener?.querySelector("td.open a")?.focus();
}

// How many cards are ticked; a comparison takes at least two.
function count_picks() {
  const button = document.querySelector("#picks button");
  if (!button) return;
  const ticked = document.querySelectorAll('input[form="picks"]:checked');
  const cards = new Set([...ticked].map((box) => box.value)).size;
  button.textContent = cards ? `Compare ${cards} ticked card${cards > 1 ? "s" : ""}` : "Compare the ticked cards";
}

// Saved views are links with a name. They stay in this browser.
const VIEWS = "inferprice-views";

function saved_views() {
  try {
    const found = JSON.parse(localStorage.getItem(VIEWS) ?? "[]");
    return found.filter((view) => typeof view.name === "string" && /^\/(\?|$)/.test(view.href));
  } catch {
    return [];
  }
}

function keep_views(views) {
  localStorage.setItem(VIEWS, JSON.stringify(views));
  show_views();
}

function element(name, properties, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

function offer_views() {
  const tools = document.querySelector(".tools");
  if (!tools || document.getElementById("menu-views")) return;
  const name = element("input", { type: "text", name: "view", maxLength: 60, required: true, placeholder: "name of this view", ariaLabel: "Name of this view" });
  const form = element("form", {}, name, element("button", { type: "submit", textContent: "Save" }));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const view = { name: name.value.trim(), href: `/${location.search}` };
    if (view.name) keep_views([...saved_views().filter((each) => each.name !== view.name), view]);
    name.value = "";
  });
  const list = element("div", { className: "list views" }, element("ul", {}), form);
  const menu = element("details", { className: "menu", id: "menu-views" }, element("summary", { textContent: "Views" }), list);
  tools.append(menu);
  show_views();
}

function show_views() {
  const items = saved_views().map((view) => {
    const forget = element("button", { type: "button", textContent: "\u00d7", ariaLabel: `Forget ${view.name}` });
    forget.addEventListener("click", () => keep_views(saved_views().filter((each) => each.name !== view.name)));
    return element("li", {}, element("a", { href: view.href, textContent: view.name }), forget);
  });
  document.querySelector("#menu-views ul")?.replaceChildren(...items);
}

// The address of an evidence page holds no filters; the way back leads to the board as it was left, at the row.
function lead_back() {
  const link = document.querySelector("a.back[data-row]");
  if (!link || !document.referrer) return;
  const board = new URL(document.referrer);
  if (board.origin !== location.origin || board.pathname !== "/") return;
  board.hash = link.dataset.row;
  link.href = board.href;
}

offer_views();
count_picks();
lead_back();
