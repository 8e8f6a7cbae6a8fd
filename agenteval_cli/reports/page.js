
"use strict";
(() => {
  // Foreign text is only ever put in as text. What would act on the eye is shown, as on a terminal.
  const UNSAFE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]/g;
  const visible = (text) => String(text).replace(UNSAFE, (found) => {
    const code = found.charCodeAt(0);
    return code < 0x100 ? "\\x" + code.toString(16).padStart(2, "0") : "\\u" + code.toString(16).padStart(4, "0");
  });
  const el = (name, kind, text, ...children) => {
    const node = document.createElement(name);
    if (kind) node.className = kind;
    if (text) node.textContent = visible(text);
    node.append(...children.filter(Boolean));
    return node;
  };
  const button = (kind, text, act) => {
    const node = el("button", kind, text);
    node.type = "button";
    node.addEventListener("click", act);
    return node;
  };

  // ---- the table
  const table = document.getElementById("cases");
  const body = table.tBodies[0];
  let rows = [...body.rows];
  const texts = new Map();
  const textOf = (row) => {
    if (!texts.has(row)) texts.set(row, row.textContent.toLowerCase());
    return texts.get(row);
  };
  const filters = document.getElementById("filters");
  const search = document.getElementById("search");
  const shown = document.getElementById("shown");

  const more = document.getElementById("more");
  let most = rows.filter((row) => !row.classList.contains("late")).length;
  const filter = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const selects = [...filters.querySelectorAll("select")].filter((select) => select.value);
    let number = 0;
    for (const row of rows) {
      const fits = selects.every((select) => row.dataset[select.name] === select.value)
        && words.every((word) => textOf(row).includes(word));
      number += fits;
      row.hidden = !fits || number > most;
      if (!row.hidden) row.classList.remove("late");
    }
    shown.value = number + " of " + rows.length + " cases";
    more.hidden = number <= most;
    more.textContent = "show all " + number;
  };
  more.addEventListener("click", () => {
    most = rows.length;
    filter();
  });

  const key = (row, column) => {
    const cell = row.cells[column];
    return "v" in cell.dataset ? Number(cell.dataset.v) : cell.textContent.toLowerCase();
  };
  const sort = (head) => {
    const down = head.getAttribute("aria-sort") !== "descending";
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const keyed = rows.map((row) => [key(row, head.cellIndex), row]);
    keyed.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0) * (down ? -1 : 1));
    rows = keyed.map(([, row]) => row);
    body.append(...rows);
    filter();
  };

  // ---- one case
  const dialog = document.getElementById("case");
  const pre = (name, text) => text === null || text === undefined || text === "" ? null
    : el("div", "", "", el("small", "", name), el("pre", "", text));

  // A sign that needs no colour, and is read out as the word that it stands for.
  const sign = (result) => {
    const node = el("b", result, result === "passed" ? "✓" : result === "failed" ? "✗" : "?");
    node.setAttribute("role", "img");
    node.setAttribute("aria-label", result.replace("_", " "));
    return node;
  };
  const check = (item, mark) => el("li", "", "",
    mark || el("b", item.result, item.result.replace("_", " ")),
    el("span", "", " " + item.name + (item.warning ? " (warning)" : "")),
    item.message ? el("div", "", item.message) : null, item.note ? el("small", "", item.note) : null,
    item.result === "passed" ? null : pre("expected", item.expected),
    item.result === "passed" ? null : pre("actual", item.actual));
  const brief = (text) => {
    const line = text.replace(/\s+/g, " ");
    return line.length > 80 ? line.slice(0, 79) + "…" : line;
  };
  const call = (event) => {
    const node = el("details", "turn call " + event.status, "",
      el("summary", "", "", el("b", "", event.who), el("span", "", "(" + brief(event.arguments) + ") → " + event.status)),
      pre("arguments", event.arguments), pre(event.status, event.result),
      event.status === "unknown" ? el("small", "", "neither result nor error was reported") : null);
    node.open = event.status === "error";
    return node;
  };
  const turn = (event) => {
    if (event.kind === "call") return call(event);
    const parts = [event.who ? el("b", "", event.who) : null, el("pre", "", event.text)];
    if (!event.checks || !event.checks.length) return el("div", "turn " + event.kind, "", ...parts);
    return el("div", "turn judged " + event.kind, "", el("div", "", "", ...parts),
      el("ul", "margin", "", ...event.checks.map((item) => check(item, sign(item.result)))));
  };
  const attempt = (item) => el("div", "attempt", "",
    el("section", "", "", el("h3", "", "Conversation"), ...item.events.map(turn)),
    el("section", "", "", el("h3", item.status, item.status.replace("_", " ")), el("p", "", item.parts),
      el("p", "", item.measured), item.reason ? el("p", "", item.reason) : null,
      el("h3", "", item.events.some((event) => event.checks && event.checks.length) ? "Checks of the whole" : "Checks"),
      el("ul", "", "", ...item.checks.map((each) => check(each))),
      ...item.judgements.map((text) => pre("judgement", text)),
      ...item.notes.map((text) => el("p", "", "note: " + text)), pre("the end of stderr", item.stderr)));
  const change = (item) => item && el("section", "", "", el("h3", "", "Change"),
    el("ul", "", "", ...item.words.map((words) => el("li", "", words))),
    item.answers.length ? el("div", "answers", "", pre("base answered", item.answers[0]),
      pre("head answered", item.answers[1])) : null);

  let lines = null;
  const dataOf = (index) => {
    lines = lines || document.getElementById("data").textContent.split("\n");
    return lines[index];
  };
  let pick = () => {};
  let opener = null;
  const open = (row) => {
    const item = JSON.parse(dataOf(row.dataset.n));
    const buttons = el("div", "bar-of-buttons");
    const place = el("div");
    let at = 0;
    pick = (index) => {
      if (!item.attempts.length) return;
      at = (index + item.attempts.length) % item.attempts.length;
      place.replaceChildren(attempt(item.attempts[at]));
      [...buttons.children].forEach((node, number) => node.setAttribute("aria-pressed", String(number === at)));
    };
    pick.by = (step) => pick(at + step);
    item.attempts.forEach((each, index) => buttons.append(button(each.status,
      (each.side ? each.side + ", " : "") + "attempt " + each.number + (each.retry ? " retry " + each.retry : "") + ": " + each.status.replace("_", " "),
      () => pick(index))));
    const title = el("h2", "", item.id + "  " + item.counts);
    title.id = "case-title";
    dialog.replaceChildren(button("close", "close (Esc)", () => dialog.close()), title,
      el("p", "", (item.title ? item.title + " · " : "") + item.file), ...[change(item.change)].filter(Boolean),
      item.attempts.length ? buttons : el("p", "", "no attempt has ended"), place);
    const first = item.attempts.findIndex((each) => !each.side && each.status !== "passed");
    pick(Math.max(first, 0));
    opener = row.querySelector("a.link");
    if (!dialog.open) dialog.showModal();
    dialog.scrollTop = 0;
    history.replaceState(null, "", "#" + encodeURIComponent(item.id));
  };
  dialog.addEventListener("close", () => {
    history.replaceState(null, "", location.pathname + location.search);
    if (opener) opener.focus();
  });
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });

  // ---- what a script adds to the page
  body.addEventListener("click", (event) => {
    const link = event.target.closest("a.link");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    open(link.closest("tr"));
  });
  for (const head of table.tHead.rows[0].cells) {
    const name = head.textContent;
    head.replaceChildren(button("sort", name + " ↕", () => sort(head)));
  }
  filters.hidden = false;
  filters.addEventListener("input", filter);
  filters.addEventListener("change", filter);
  filters.addEventListener("submit", (event) => event.preventDefault());
  filter();

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = ["INPUT", "SELECT", "TEXTAREA"].includes(document.activeElement.tagName);
    if (dialog.open) {
      if (event.key === "ArrowRight" || event.key === "ArrowLeft") pick.by(event.key === "ArrowRight" ? 1 : -1);
    } else if (event.key === "/" && !typing) {
      event.preventDefault();
      search.focus();
    } else if ((event.key === "ArrowDown" || event.key === "ArrowUp") && document.activeElement.tagName !== "SELECT") {
      const links = rows.length ? [...body.querySelectorAll("tr:not([hidden]) a.link")] : [];
      const at = links.indexOf(document.activeElement);
      if (at < 0 && document.activeElement !== search) return;
      event.preventDefault();
      const next = links[at < 0 ? 0 : at + (event.key === "ArrowDown" ? 1 : -1)];
      (next || (event.key === "ArrowUp" ? search : links.at(-1)))?.focus();
    }
  });
  // A page that is loaded anew while its run is on shows what it showed before.
  const named = (hash) => { try { return decodeURIComponent(hash.slice(1)); } catch { return ""; } };
  const hash = named(location.hash);
  const wanted = hash && rows.find((row) => row.querySelector("a.link").textContent === hash);
  if (wanted) open(wanted);
})();
