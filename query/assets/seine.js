// What the page does better with a script: completion while typing, and keys. Everything works without it.

const box = document.getElementById("q");
const form = box.form;

// ---- Completion: a combobox with a list, as the ARIA practices describe it. ----

const PAUSE_MS = 120;
const SUGGESTIONS = 8;
const list = document.createElement("ul");
const status = document.createElement("p");
let typed = box.value;
let active = -1;
let waiting = 0;
let asking = null;

function prepare() {
  list.id = "suggestions";
  list.className = "suggestions";
  list.hidden = true;
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", form.dataset.suggestions);
  status.className = "unseen";
  status.setAttribute("role", "status");
  form.append(list, status);
  for (const [name, value] of [["role", "combobox"], ["aria-autocomplete", "list"], ["aria-controls", list.id], ["aria-expanded", "false"]]) {
    box.setAttribute(name, value);
  }
}

function close() {
  clearTimeout(waiting);
  asking?.abort();
  asking = null;
  list.hidden = true;
  list.replaceChildren();
  status.textContent = "";
  active = -1;
  box.setAttribute("aria-expanded", "false");
  box.removeAttribute("aria-activedescendant");
}

function show(suggestions) {
  list.replaceChildren(...suggestions.map((text, number) => {
    const option = document.createElement("li");
    option.id = `suggestion-${number}`;
    option.setAttribute("role", "option");
    option.setAttribute("aria-selected", "false");
    option.dataset.text = text;
    // What is typed already is plain, what would be added is bold.
    if (text.toLowerCase().startsWith(typed.toLowerCase())) {
      const added = document.createElement("b");
      added.textContent = text.slice(typed.length);
      option.append(text.slice(0, typed.length), added);
    } else {
      option.textContent = text;
    }
    return option;
  }));
  active = -1;
  list.hidden = suggestions.length === 0;
  box.setAttribute("aria-expanded", String(!list.hidden));
  box.removeAttribute("aria-activedescendant");
  status.textContent = list.hidden ? "" : `${form.dataset.suggestions}: ${suggestions.length}`;
}

// Choosing none, after the last or before the first, brings back what was typed.
function choose(number) {
  list.children[active]?.setAttribute("aria-selected", "false");
  const count = list.children.length;
  active = number < -1 ? count - 1 : number >= count ? -1 : number;
  const option = list.children[active];
  if (!option) {
    box.value = typed;
    box.removeAttribute("aria-activedescendant");
    return;
  }
  option.setAttribute("aria-selected", "true");
  option.scrollIntoView({ block: "nearest" });
  box.setAttribute("aria-activedescendant", option.id);
  box.value = option.dataset.text;
}

async function complete() {
  asking?.abort();
  const current = (asking = new AbortController());
  const asked = typed.trim();
  if (!asked) return close();
  try {
    const answer = await fetch(`/api/v1/suggest?limit=${SUGGESTIONS}&q=${encodeURIComponent(asked)}`, { signal: current.signal });
    const suggestions = answer.ok ? (await answer.json()).suggestions : [];
    if (!current.signal.aborted && document.activeElement === box) show(suggestions);
  } catch {
    // Superseded, or the server is away: completion is a convenience.
    if (!current.signal.aborted) close();
  }
}

box.addEventListener("input", (event) => {
  typed = box.value;
  clearTimeout(waiting);
  if (event.isComposing) return;
  if (!typed.trim()) return close();
  waiting = setTimeout(complete, PAUSE_MS);
});
box.addEventListener("compositionend", () => {
  typed = box.value;
  waiting = setTimeout(complete, PAUSE_MS);
});
box.addEventListener("keydown", (event) => {
  if (event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape" && !list.hidden) {
    // The first Escape closes the list; the browser's own, which empties the box, is the second.
    event.preventDefault();
    box.value = typed;
    close();
  } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    event.preventDefault();
    if (!list.hidden) choose(active + (event.key === "ArrowDown" ? 1 : -1));
    else if (event.key === "ArrowDown" && box.value === form.dataset.asked) focusResult(0);
    else if (box.value.trim()) { typed = box.value; complete(); }
  }
});
box.addEventListener("blur", close);
form.addEventListener("submit", (event) => {
  if (!box.value.trim()) event.preventDefault();
  close();
});
// Not "click": the box must not lose focus first.
list.addEventListener("pointerdown", (event) => event.preventDefault());
list.addEventListener("click", (event) => {
  const option = event.target.closest("[role=option]");
  if (!option) return;
  box.value = option.dataset.text;
  form.requestSubmit();
});

// ---- Keys: "/" goes to the box; arrows, j and k go through the results, Enter opens as with any link. ----

const links = Array.from(document.querySelectorAll(".hits h2 a"));

function focusResult(number) {
  links[number]?.focus();
  links[number]?.closest("li").scrollIntoView({ block: "nearest" });
  return number in links;
}

addEventListener("keydown", (event) => {
  const focused = document.activeElement;
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || focused.matches("input, textarea, select")) return;
  if (event.key === "/") {
    event.preventDefault();
    box.focus();
    box.select();
    return;
  }
  const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[event.key];
  const at = links.indexOf(focused);
  // From elsewhere on the page, such as the filters, arrows scroll as always.
  if (!step || (at < 0 && focused !== document.body && focused.id !== "content")) return;
  if (at === 0 && step < 0) {
    event.preventDefault();
    box.focus();
  } else if (at >= 0 || step > 0) {
    if (focusResult(at + step)) event.preventDefault();
  }
});

// ---- Filters on a small screen close on Escape. ----

document.querySelector(".facets > details")?.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || !event.currentTarget.open) return;
  event.currentTarget.open = false;
  event.currentTarget.querySelector("summary").focus();
});

form.dataset.asked = box.value;
for (const keys of document.querySelectorAll(".keys")) keys.hidden = false;
prepare();
