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

document.addEventListener("htmx:after:swap", () => {
  for (const row of document.querySelectorAll("tr.evidence")) mark(row.previousElementSibling, true);
});

document.addEventListener("click", (event) => {
  if (event.target.matches("button.close")) close_evidence(event.target.closest("tr.evidence"));
  if (event.target.matches("a.copy") && navigator.clipboard) {
    event.preventDefault();
    navigator.clipboard.writeText(event.target.href).then(() => {
      event.target.classList.add("copied");
      setTimeout(() => event.target.classList.remove("copied"), 2000);
    });
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
